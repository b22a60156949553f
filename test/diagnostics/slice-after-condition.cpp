//===- slice-after-condition.cpp - A view made inside of a condition ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 1> Y, Index n) const {
    auto x = b.shared<f32>(4, 64);
    b.copy(X.at(0, 0), x);
    Tile<f32, 1> chosen;
    b.when(n > 0, [&] { chosen = x[n]; }, [&] { chosen = x[0]; });
    b.copy(chosen, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: slice-after-condition.cpp:16: error PS1002: the source of the copy was computed inside a loop, condition or statement that has ended
// EXPECT:    16 |     b.copy(chosen, Y.at(0));
// EXPECT:       |     ^
// EXPECT:   help: keep it in a tile or in a Var that is declared outside
