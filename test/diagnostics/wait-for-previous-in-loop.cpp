//===- wait-for-previous-in-loop.cpp - A wait that threads may skip -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(64);
    for (Index i : b.range(X.size(0))) {
      b.wait_for_previous();
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: wait-for-previous-in-loop.cpp:14: error PS1770: `wait_for_previous` must be outside of loops, conditions and statements
// EXPECT:    14 |       b.wait_for_previous();
// EXPECT:       |       ^
// EXPECT:   help: call it once, before the loop or condition
