//===- grid-swizzle-zero.cpp - A swizzle with groups of no width ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int group = 0;

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto [bm, bn] = b.grid(ceil_div(X.size(0), 16), ceil_div(X.size(1), 16), swizzled(group));
    auto x = b.local<f32>(16, 16);
    b.copy(X.at(bm * 16, bn * 16), x);
    b.copy(x, Y.at(bm * 16, bn * 16));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: grid-swizzle-zero.cpp:14: error PS1109: the groups of a swizzled grid are 0 wide; they must be at least 1 and at most 2^20
// EXPECT:    14 |     auto [bm, bn] = b.grid(ceil_div(X.size(0), 16), ceil_div(X.size(1), 16), swizzled(group));
// EXPECT:       |                     ^
// EXPECT:   help: leave swizzled(..) out for a grid in plain order
