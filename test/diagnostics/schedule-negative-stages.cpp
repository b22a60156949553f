//===- schedule-negative-stages.cpp - A negative depth --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int stages = -2;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.shared<f32>(64);
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), {.num_stages = stages})) {
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-negative-stages.cpp:15: error PS1215: `num_stages` is -2; a pipelined loop needs `num_stages` of at least 1 or `Auto`, or `stage` and `order`
// EXPECT:    15 |     for (Index i : b.pipelined(ceil_div(X.size(0), 64), {.num_stages = stages})) {
// EXPECT:       |                    ^
