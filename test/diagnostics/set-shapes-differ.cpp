//===- set-shapes-differ.cpp - Tiles of two shapes in one expression ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Residual {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.local<f32>(16, 64);
    auto half = b.local<f32>(16, 32);
    b.copy(X.at(0, 0), x);
    b.copy(X.at(0, 0), half);
    b.set(x, x + half);
    b.copy(x, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Residual{}, Target::native()); }

// EXPECT: set-shapes-differ.cpp:16: error PS1118: `half` (16x32 f32, local) does not have the shape of `x` (16x64 f32, local)
// EXPECT:    16 |     b.set(x, x + half);
// EXPECT:       |     ^
// EXPECT:   help: an operand has the target's shape, or is broadcast with broadcast_rows(..) or broadcast_cols(..)
