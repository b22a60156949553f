//===- grid-from-loaded-value.cpp - The grid depends on a loaded value ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Ragged {
  void operator()(Block &b, In<i32, 1> Lengths, Out<f32, 1> Y) const {
    auto length = Lengths.load(0);
    auto i = b.grid(ceil_div(length, 64));
    auto y = b.local<f32>(64);
    b.fill(y, 0);
    b.copy(y, Y.at(i * 64));
  }
};
} // namespace

WRONG_PROGRAM { compile(Ragged{}, Target::native()); }

// EXPECT: grid-from-loaded-value.cpp:13: error PS1110: extent 0 of the grid must be the same for the whole launch, but it is computed from values that only exist inside a block
// EXPECT:    13 |     auto i = b.grid(ceil_div(length, 64));
// EXPECT:       |              ^
// EXPECT:   help: compute it from the kernel's arguments: sizes, scalar arguments and constants
