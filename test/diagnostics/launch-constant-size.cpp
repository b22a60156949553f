//===- launch-constant-size.cpp - A size that the signature states --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Rotate {
  static constexpr auto signature = "X[N,3] -> Y[N,3]";

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto i = b.grid(X.size(0));
    b.store(Y.at(i, 0), X.load(i, 1));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(40), y(40);
  auto kernel = compile(Rotate{}, Target::interpreter());
  kernel(view(x, {10, 4}), view(y, {10, 3}));
}

// EXPECT: launch-constant-size.cpp:23: error PS1302: size 1 of `X` is 4, but the signature says 3
// EXPECT:    23 |   kernel(view(x, {10, 4}), view(y, {10, 3}));
// EXPECT:       |   ^
// EXPECT: launch-constant-size.cpp:22: note: `Rotate` was compiled here
// EXPECT:    22 |   auto kernel = compile(Rotate{}, Target::interpreter());
// EXPECT:       |                 ^
// EXPECT:   help: its signature is "X[N,3] -> Y[N,3]"
