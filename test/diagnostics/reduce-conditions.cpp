//===- reduce-conditions.cpp - Conditions are not numbers -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct CountPositive {
  void operator()(Block &b, In<f32, 2> X, Out<i32, 1> Y) const {
    auto x = b.local<f32>(4, 64);
    auto positive = b.local<bool>(4, 64);
    auto count = b.local<i32>(4);
    b.copy(X.at(0, 0), x);
    b.set(positive, x > 0);
    b.reduce(Sum, positive, 1, count);
    b.copy(count, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(CountPositive{}, Target::native()); }

// EXPECT: reduce-conditions.cpp:17: error PS1103: `reduce` combines numbers, and `positive` (4x64 i1, local) holds conditions
// EXPECT:    17 |     b.reduce(Sum, positive, 1, count);
// EXPECT:       |     ^
// EXPECT:   help: `set` an i32 tile with cast<i32>(..) first
