//===- remainder-by-zero.cpp - An integer is divided by the constant 0 ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int slots = 0;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    for (Index i : b.range(X.size(0)))
      b.store(Y.at(i % slots), X.load(i));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: remainder-by-zero.cpp:15: error PS1111: an integer is divided by 0
// EXPECT:    15 |       b.store(Y.at(i % slots), X.load(i));
// EXPECT:       |                    ^
