//===- run-divided-by-zero.cpp - A division by a size that is zero --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Mean {
  void operator()(Block &b, In<i32, 1> X, Out<i32, 1> Y, Scalar<i32> count) const {
    b.store(Y.at(0), X.load(0) / count);
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<i32> x(4), y(4);
  auto kernel = compile(Mean{}, Target::native());
  kernel(view(x, {4}), view(y, {4}), 0);
}

// EXPECT: run-divided-by-zero.cpp:12: error PS1403: division by zero
// EXPECT:    12 |     b.store(Y.at(0), X.load(0) / count);
// EXPECT:       |                      ^
