//===- schedule-negative-stage.cpp - A stage before the first -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  static constexpr auto signature = "X[N] -> Y[N]";
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.shared<f32>(64);
    for (Index i : b.pipelined(X.size(0), {.stage = {-1, 0}, .order = {0, 1}})) {
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-negative-stage.cpp:15: error PS1211: stage -1 of `copy X -> x` is not between 0 and 1000
// EXPECT:    15 |       b.copy(X.at(i * 64), x);
// EXPECT:       |       ^
