//===- grid-in-loop.cpp - The grid is stated inside a loop ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.local<f32>(1, 16);
    for (Index i : b.range(X.size(0))) {
      auto j = b.grid(ceil_div(X.size(1), 16));
      b.copy(X.at(i, j * 16), x);
      b.copy(x, Y.at(i, j * 16));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: grid-in-loop.cpp:14: error PS1109: the grid is stated inside a loop or condition
// EXPECT:    14 |       auto j = b.grid(ceil_div(X.size(1), 16));
// EXPECT:       |                ^
// EXPECT:   help: call `grid` once, at the start of the kernel
