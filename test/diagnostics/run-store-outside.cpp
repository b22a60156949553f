//===- run-store-outside.cpp - A store outside of its tensor, native ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Shift {
  static constexpr auto signature = "X[N] -> Y[N]";

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto i = b.grid(X.size(0));
    b.store(Y.at(i - 1), X.load(i));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(8), y(8);
  auto kernel = compile(Shift{}, Target::native());
  kernel(view(x, {8}), view(y, {8}));
}

// EXPECT: run-store-outside.cpp:15: error PS1402: an element outside of `Y` (? f32, global) is written
// EXPECT:    15 |     b.store(Y.at(i - 1), X.load(i));
// EXPECT:       |     ^
// EXPECT:   help: compile it for Target::interpreter() to see the index and the block
