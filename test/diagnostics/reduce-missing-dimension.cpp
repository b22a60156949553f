//===- reduce-missing-dimension.cpp - Dimensions are counted from 0 -------===//
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
    b.reduce(Sum, x, 2, sums);
    b.copy(sums, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(RowSums{}, Target::native()); }

// EXPECT: reduce-missing-dimension.cpp:15: error PS1108: `reduce` runs along dimension 2 of `x` (8x128 f32, local), which has rank 2
// EXPECT:    15 |     b.reduce(Sum, x, 2, sums);
// EXPECT:       |     ^
// EXPECT:   help: dimensions are counted from 0; along the last one, each row is reduced to one element
