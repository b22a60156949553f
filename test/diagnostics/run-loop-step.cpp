//===- run-loop-step.cpp - A step that is not positive, at run time -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Strided {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y, Index step) const {
    for (Index i : b.range(0, X.size(0), step))
      b.store(Y.at(i), X.load(i));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(8), y(8);
  auto kernel = compile(Strided{}, Target::native());
  kernel(view(x, {8}), view(y, {8}), -2);
}

// EXPECT: run-loop-step.cpp:12: error PS1405: the step of a loop is not positive
// EXPECT:    12 |     for (Index i : b.range(0, X.size(0), step))
// EXPECT:       |                    ^
