//===- loop-step-negative.cpp - A loop that runs backwards ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Scan {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto N = X.size(0);
    for (Index i : b.range(N - 1, -1, -1))
      b.store(Y.at(i), X.load(i));
  }
};
} // namespace

WRONG_PROGRAM { compile(Scan{}, Target::native()); }

// EXPECT: loop-step-negative.cpp:13: error PS1111: the step of a loop is -1; it must be positive
// EXPECT:    13 |     for (Index i : b.range(N - 1, -1, -1))
// EXPECT:       |                    ^
// EXPECT:   help: to run backwards, count upwards and use end - 1 - i in the body
