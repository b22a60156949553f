//===- schedule-outlives-group.cpp - A wait outside of the group ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(16, 16), sum = b.local<f32>(16, 16);
    b.fill(sum, 0);
    for (Index i : b.pipelined(ceil_div(X.size(0), 16), {.num_stages = 2})) {
      b.copy(X.at(i * 16, 0), x);
      b.statement("square", [&] {
        b.gemm(x, x, sum, {.async = "product"});
      });
      b.wait("product");
    }
    b.copy(sum, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-outlives-group.cpp:17: error PS1235: `product` may still be under way when this statement of a pipelined loop has ended
// EXPECT:    17 |         b.gemm(x, x, sum, {.async = "product"});
// EXPECT:       |         ^
// EXPECT: schedule-outlives-group.cpp:16: note: this is the statement
// EXPECT:    16 |       b.statement("square", [&] {
// EXPECT:       |       ^
// EXPECT:   help: wait for it at the end of the statement, or make it a statement of the loop
