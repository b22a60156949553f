//===- tile-never-allocated.cpp - A helper's tile was never allocated -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Softmax {
  Tile<f32, 1> top;

  void update(Block &b, const Tile<f32, 2> &S, Loc at = here()) {
    b.reduce(Max, S, 1, top, {.accumulate = true}, at);
  }
};

struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 1> Y) const {
    Softmax softmax;
    auto x = b.local<f32>(16, 64);
    b.copy(X.at(0, 0), x);
    softmax.update(b, x);
    b.copy(x[0], Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tile-never-allocated.cpp:23: error PS1003: the target of the reduction has no value
// EXPECT:    23 |     softmax.update(b, x);
// EXPECT:       |     ^
// EXPECT:   help: it was default-constructed, or made while no kernel was being recorded; assign it before it is used
