//===- reduce-target-shape.cpp - The target has the reduced dimension -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct RowSums {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(8, 128);
    auto sums = b.local<f32>(8);
    b.copy(X.at(0, 0), x);
    b.reduce(Sum, x, 0, sums);
    b.copy(sums, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(RowSums{}, Target::native()); }

// EXPECT: reduce-target-shape.cpp:15: error PS1102: `reduce` of `x` (8x128 f32, local) along dimension 0 does not fit `sums` (8 f32, local)
// EXPECT:    15 |     b.reduce(Sum, x, 0, sums);
// EXPECT:       |     ^
// EXPECT:   help: the target has the source's shape without the reduced dimension
