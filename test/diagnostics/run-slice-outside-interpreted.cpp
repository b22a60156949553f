//===- run-slice-outside-interpreted.cpp - A slot outside, interpreted ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Ring {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto block = b.grid(X.size(0));
    auto ring = b.shared<f32>(3, 16);
    b.fill(ring, 0);
    b.copy(X.at(block, 0), ring[block]);
    b.copy(ring[block % 3], Y.at(block, 0));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(4 * 16), y(4 * 16);
  auto kernel = compile(Ring{}, Target::interpreter());
  kernel(view(x, {3, 16}), view(y, {3, 16})); // three slots suffice here
  kernel(view(x, {4, 16}), view(y, {4, 16}));
}

// EXPECT: run-slice-outside-interpreted.cpp:15: error PS1402: a slice of `ring` starts at 3 in dimension 0; it has size 1 and the dimension has size 3
// EXPECT:    15 |     b.copy(X.at(block, 0), ring[block]);
// EXPECT:       |                                 ^ in block (3)
