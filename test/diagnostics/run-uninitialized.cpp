//===- run-uninitialized.cpp - A tile is read that nothing wrote ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct RowSum {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(4, 16);
    auto sum = b.local<f32>(4);
    b.copy(X.at(0, 0), x);
    b.reduce(penstock::Sum, x, 1, sum, {.accumulate = true});
    b.copy(sum, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(4 * 16), y(4);
  auto kernel = compile(RowSum{}, Target::interpreter());
  kernel(view(x, {4, 16}), view(y, {4}));
}

// EXPECT: run-uninitialized.cpp:15: error PS1406: `reduce` reads `sum` at [0], which nothing has written
// EXPECT:    15 |     b.reduce(penstock::Sum, x, 1, sum, {.accumulate = true});
// EXPECT:       |     ^
