//===- schedule-async-product.cpp - A mark on what is not a copy ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.shared<f32>(64), sum = b.local<f32>(64);
    b.fill(sum, 0);
    for (Index i : b.pipelined(
             ceil_div(X.size(0), 64),
             {.stage = {0, 1}, .order = {0, 1}, .async_producers = {1, 1}})) {
      b.copy(X.at(i * 64), x);
      b.set(sum, sum + x);
    }
    b.copy(sum, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-async-product.cpp:18: error PS1229: `set sum` is marked as an asynchronous producer and is not a copy
// EXPECT:    18 |       b.set(sum, sum + x);
// EXPECT:       |       ^
