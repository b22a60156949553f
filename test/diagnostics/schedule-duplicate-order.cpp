//===- schedule-duplicate-order.cpp - One order for two statements --------===//
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
    for (Index i : b.pipelined(X.size(0), {.stage = {0, 1}, .order = {1, 1}})) {
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-duplicate-order.cpp:13: error PS1212: order 1 is given to two statements; orders must be unique
// EXPECT:    13 |     for (Index i : b.pipelined(X.size(0), {.stage = {0, 1}, .order = {1, 1}})) {
// EXPECT:       |     ^
