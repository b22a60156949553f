//===- ceil-div-by-zero.cpp - A block size that was not set ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int block = 0;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto i = b.grid(ceil_div(X.size(0), block));
    auto x = b.local<f32>(64);
    b.copy(X.at(i * block), x);
    b.copy(x, Y.at(i * block));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: ceil-div-by-zero.cpp:14: error PS1111: `ceil_div` divides by 0; the divisor must be positive
// EXPECT:    14 |     auto i = b.grid(ceil_div(X.size(0), block));
// EXPECT:       |                              ^
