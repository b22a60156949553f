//===- grid-stated-twice.cpp - A kernel has one grid ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto bm = b.grid(ceil_div(X.size(0), 16));
    auto bn = b.grid(ceil_div(X.size(1), 16));
    auto x = b.local<f32>(16, 16);
    b.copy(X.at(bm * 16, bn * 16), x);
    b.copy(x, Y.at(bm * 16, bn * 16));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: grid-stated-twice.cpp:13: error PS1109: the grid is stated a second time
// EXPECT:    13 |     auto bn = b.grid(ceil_div(X.size(1), 16));
// EXPECT:       |               ^
// EXPECT: grid-stated-twice.cpp:12: note: the first time is here
// EXPECT:    12 |     auto bm = b.grid(ceil_div(X.size(0), 16));
// EXPECT:       |               ^
// EXPECT:   help: a kernel has one grid; state all its extents in one call
