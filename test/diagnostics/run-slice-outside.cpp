//===- run-slice-outside.cpp - A slot outside of its ring, native ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Ring {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto ring = b.shared<f32>(3, 16);
    b.fill(ring, 0);
    for (Index i : b.range(X.size(0))) {
      b.copy(X.at(i, 0), ring[i]);
      b.copy(ring[0], Y.at(i, 0));
    }
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(4 * 16), y(4 * 16);
  auto kernel = compile(Ring{}, Target::native());
  kernel(view(x, {4, 16}), view(y, {4, 16}));
}

// EXPECT: run-slice-outside.cpp:15: error PS1402: a slice lies outside of `ring` (3x16 f32, shared)
// EXPECT:    15 |       b.copy(X.at(i, 0), ring[i]);
// EXPECT:       |                               ^
// EXPECT:   help: compile it for Target::interpreter() to see the index and the block
