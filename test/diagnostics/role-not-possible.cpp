//===- role-not-possible.cpp - A role that needs others' registers --------===//
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
    auto sum = b.local<f32>(64);
    b.fill(sum, 0);
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), {.num_stages = 2})) {
      b.copy(X.at(i * 64), x);
      b.statement("add", [&] { b.set(sum, sum + x); }, {.role = "adder"});
    }
    b.copy(sum, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::sm_90a().emulated()); }

// EXPECT: role-not-possible.cpp:17: error PS1619: role `adder` would need the registers of `sum` (64 f32, local), which other warps use outside of the loop
// EXPECT:    17 |       b.statement("add", [&] { b.set(sum, sum + x); }, {.role = "adder"});
// EXPECT:       |                                ^
// EXPECT: role-not-possible.cpp:19: note: which is here
// EXPECT:    19 |     b.copy(sum, Y.at(0));
// EXPECT:       |     ^
// EXPECT:   help: pass results on in a tile of b.shared, or state no role
