//===- schedule-statements-counted.cpp - Too few entries of a schedule ----===//
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
    for (Index i : b.pipelined(X.size(0), {.stage = {0, 1}, .order = {0, 1}})) {
      b.copy(X.at(i * 64), x);
      b.set(x, x + 1.0f);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-statements-counted.cpp:13: error PS1200: stage has 2 entries; the loop has 3 scheduled statements
// EXPECT:    13 |     for (Index i : b.pipelined(X.size(0), {.stage = {0, 1}, .order = {0, 1}})) {
// EXPECT:       |                    ^
// EXPECT: schedule-statements-counted.cpp:14: note: statement 1: `copy arg0 -> x`
// EXPECT:    14 |       b.copy(X.at(i * 64), x);
// EXPECT:       |       ^
// EXPECT: schedule-statements-counted.cpp:15: note: statement 2: `set x`
// EXPECT:    15 |       b.set(x, x + 1.0f);
// EXPECT:       |       ^
// EXPECT: schedule-statements-counted.cpp:16: note: statement 3: `copy x -> arg1`
// EXPECT:    16 |       b.copy(x, Y.at(i * 64));
// EXPECT:       |       ^
// EXPECT:   help: give one entry per scheduled statement, in source order; scalars that can be recomputed take none
