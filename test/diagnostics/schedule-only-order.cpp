//===- schedule-only-order.cpp - The order is given without stages --------===//
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
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), {.order = {1, 0}})) {
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-only-order.cpp:13: error PS1213: `order` is given without `stage`; state both or neither
// EXPECT:    13 |     for (Index i : b.pipelined(ceil_div(X.size(0), 64), {.order = {1, 0}})) {
// EXPECT:       |                    ^
