//===- wait-lag-of-another-loop.cpp - A lag for what another loop issued --===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(4, 64);
    for (Index i : b.range(4))
      b.copy(X.at(i, 0), x[i], {.async = "load"});
    for (Index i : b.range(4)) {
      b.wait("load", {.lag = 2});
      b.copy(x[i], Y.at(i, 0));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: wait-lag-of-another-loop.cpp:16: error PS1114: `wait` has a lag for `load`, which is issued in another loop
// EXPECT:    16 |       b.wait("load", {.lag = 2});
// EXPECT:       |       ^
// EXPECT: wait-lag-of-another-loop.cpp:14: note: it is issued here
// EXPECT:    14 |       b.copy(X.at(i, 0), x[i], {.async = "load"});
// EXPECT:       |       ^
// EXPECT:   help: a lag counts iterations of the loop around both; leave it out to wait for everything of that name
