//===- loop-step-zero.cpp - A loop that would not end ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int step = 0;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(64);
    for (Index i : b.range(0, X.size(0), step)) {
      b.copy(X.at(i), x);
      b.copy(x, Y.at(i));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: loop-step-zero.cpp:15: error PS1111: the step of a loop is 0; it must be positive
// EXPECT:    15 |     for (Index i : b.range(0, X.size(0), step)) {
// EXPECT:       |                    ^
