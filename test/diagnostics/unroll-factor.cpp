//===- unroll-factor.cpp - An unroll factor out of range ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int unroll = 1000;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    for (Index i : b.range(0, X.size(0), 1, {.unroll = unroll}))
      b.store(Y.at(i), X.load(i));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: unroll-factor.cpp:14: error PS1113: the unroll factor is 1000; it must be between 0 (unroll fully) and 64
// EXPECT:    14 |     for (Index i : b.range(0, X.size(0), 1, {.unroll = unroll}))
// EXPECT:       |                    ^
