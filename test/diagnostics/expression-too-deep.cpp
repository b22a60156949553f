//===- expression-too-deep.cpp - An expression without an end -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct LongSum {
  void operator()(Block &b, Out<f32, 1> out) const {
    auto t = b.local<f32>(8);
    b.fill(t, 0);
    Expr<f32> sum = t + 1.0f;
    for (int i = 0; i < 2000; ++i)
      sum = sum + 1.0f;
    b.set(t, sum);
    b.copy(t, out.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(LongSum{}, Target::native()); }

// EXPECT: expression-too-deep.cpp:16: error PS1010: an expression is nested more than 1000 deep
// EXPECT:    16 |       sum = sum + 1.0f;
// EXPECT:       |             ^
// EXPECT:   help: `set` a tile to a part of it first
