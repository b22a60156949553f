//===- schedule-solver-seconds.cpp - the exact solver needs time ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Scale {
  static constexpr auto signature = "X[M,N] -> Y[M,N]";

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(16, 64);
    auto y = b.local<f32>(16, 64);
    for (Index n : b.pipelined(ceil_div(X.size(1), 64),
                               {.schedule = Schedule::Optimal, .solver_seconds = 0})) {
      b.copy(X.at(0, n * 64), x);
      b.set(y, x * 2);
      b.copy(y, Y.at(0, n * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Scale{}, Target::sm_90a()); }

// EXPECT: schedule-solver-seconds.cpp:16: error PS1713: the exact solver needs `solver_seconds` of at least 1
// EXPECT:    16 |     for (Index n : b.pipelined(ceil_div(X.size(1), 64),
// EXPECT:       |                    ^
