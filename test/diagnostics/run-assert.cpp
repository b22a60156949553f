//===- run-assert.cpp - An assertion fails while the kernel runs ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Normalize {
  void operator()(Block &b, InOut<f32, 1> X, Scalar<f32> norm) const {
    b.require(norm > 0, "the norm must be positive");
    b.store(X.at(0), X.load(0) / norm);
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(16);
  auto kernel = compile(Normalize{}, Target::native());
  kernel(view(x, {16}), 0.0f);
}

// EXPECT: run-assert.cpp:12: error PS1401: assertion failed: the norm must be positive
// EXPECT:    12 |     b.require(norm > 0, "the norm must be positive");
// EXPECT:       |     ^
