//===- two-errors.cpp - Two errors in one kernel are reported at once -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(16, 64);
    auto wide = b.shared<f32>(16, -64);
    auto y = b.local<f32>(16, 16);
    b.copy(X.at(0, 0), x);
    b.copy(x, wide);
    b.set(wide, wide * 2);
    b.copy(x, y);
    b.copy(y, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: two-errors.cpp:13: error PS1101: dimension 1 of `wide` is -64
// EXPECT:    13 |     auto wide = b.shared<f32>(16, -64);
// EXPECT:       |                 ^
// EXPECT:   help: the shape of a tile is known when the kernel is compiled, and every extent is at least 1
// EXPECT: two-errors.cpp:18: error PS1102: `copy` goes from `x` (16x64 f32, shared) to `y` (16x16 f32, local): the shapes differ
// EXPECT:    18 |     b.copy(x, y);
// EXPECT:       |     ^
// EXPECT:   help: use slice(..) to copy a part of the larger one
