//===- wait-lag-outside-loop.cpp - A lag where there are no iterations ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.shared<f32>(64);
    b.copy(X.at(0), x, {.async = "load"});
    b.wait("load", {.lag = 1});
    b.copy(x, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: wait-lag-outside-loop.cpp:14: error PS1114: `wait` has a lag but is not in a loop
// EXPECT:    14 |     b.wait("load", {.lag = 1});
// EXPECT:       |     ^
// EXPECT:   help: a lag counts iterations of the loop around the wait; leave it out to wait for everything of that name
