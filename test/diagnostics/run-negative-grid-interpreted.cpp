//===- run-negative-grid-interpreted.cpp - A negative grid, interpreted ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Tail {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto [i, j] = b.grid(X.size(0), X.size(1) - 128);
    b.store(Y.at(i, j), X.load(i, j));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(100), y(100);
  auto kernel = compile(Tail{}, Target::interpreter());
  kernel(view(x, {1, 100}), view(y, {1, 100}));
}

// EXPECT: run-negative-grid-interpreted.cpp:12: error PS1306: the grid is 1 x -28; its extents must not be negative, nor their product 2^31 or more
// EXPECT:    12 |     auto [i, j] = b.grid(X.size(0), X.size(1) - 128);
// EXPECT:       |                   ^
