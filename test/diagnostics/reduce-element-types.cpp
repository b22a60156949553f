//===- reduce-element-types.cpp - Integers reduced to floating point ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Counts {
  void operator()(Block &b, In<i32, 2> X, Out<f32, 1> Y) const {
    auto x = b.local<i32>(8, 128);
    auto means = b.local<f32>(8);
    b.copy(X.at(0, 0), x);
    b.reduce(Sum, x, 1, means);
    b.copy(means, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Counts{}, Target::native()); }

// EXPECT: reduce-element-types.cpp:15: error PS1103: `reduce` goes from `x` (8x128 i32, local) to `means` (8 f32, local)
// EXPECT:    15 |     b.reduce(Sum, x, 1, means);
// EXPECT:       |     ^
// EXPECT:   help: a reduction converts floating-point elements, and integers to wider ones; `set` a tile with a cast first
