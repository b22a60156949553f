//===- schedule-duplicate-order.cpp - One order for two statements --------===//
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
    for (Index i : b.pipelined(X.size(0), {.stage = {0, 1}, .order = {1, 1}})) {
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-duplicate-order.cpp:16: error PS1212: `copy X -> x` and `copy x -> Y` both have order 1
// EXPECT:    16 |       b.copy(x, Y.at(i * 64));
// EXPECT:       |       ^
// EXPECT: schedule-duplicate-order.cpp:15: note: `copy X -> x` is here
// EXPECT:    15 |       b.copy(X.at(i * 64), x);
// EXPECT:       |       ^ stage 0, order 1
// EXPECT:   help: orders say what runs first within a step; give each statement its own
