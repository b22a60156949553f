//===- divmod-by-zero.cpp - fast_divmod by a field that was not set -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int width = 0;

  void operator()(Block &b, Out<i32, 1> Y) const {
    auto i = b.grid(Y.size(0));
    auto [row, column] = fast_divmod(i, width);
    b.store(Y.at(i), cast<i32>(row + column));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: divmod-by-zero.cpp:15: error PS1111: `fast_divmod` divides by 0; the divisor must be positive
// EXPECT:    15 |     auto [row, column] = fast_divmod(i, width);
// EXPECT:       |                                      ^
