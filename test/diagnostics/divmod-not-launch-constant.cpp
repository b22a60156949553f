//===- divmod-not-launch-constant.cpp - A divisor of the block ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<i32, 1> Widths, Out<i32, 1> Y) const {
    auto i = b.grid(Y.size(0));
    auto width = Widths.load(i);
    auto [row, column] = fast_divmod(i, width);
    b.store(Y.at(i), cast<i32>(row + column));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: divmod-not-launch-constant.cpp:14: error PS1110: the divisor of `fast_divmod` must be the same for the whole launch, but it is computed from values that only exist inside a block
// EXPECT:    14 |     auto [row, column] = fast_divmod(i, width);
// EXPECT:       |                                      ^
// EXPECT:   help: compute it from the kernel's arguments: sizes, scalar arguments and constants; or use / and %
