//===- run-negative-grid.cpp - The grid of a launch is negative -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Tail {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto i = b.grid(X.size(0) - 128);
    b.store(Y.at(i), X.load(i));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(100), y(100);
  auto kernel = compile(Tail{}, Target::native());
  kernel(view(x, {100}), view(y, {100}));
}

// EXPECT: run-negative-grid.cpp:12: error PS1306: extent 0 of the grid of `Tail` is -28; it must not be negative
// EXPECT:    12 |     auto i = b.grid(X.size(0) - 128);
// EXPECT:       |              ^
