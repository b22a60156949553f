//===- tensor-size-dimension.cpp - A dimension a tensor does not have -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  static constexpr auto signature = "X[M,N] -> Y[M,N]";

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto i = b.grid(ceil_div(X.size(2), 16));
    auto x = b.local<f32>(16, 16);
    b.copy(X.at(0, i * 16), x);
    b.copy(x, Y.at(0, i * 16));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tensor-size-dimension.cpp:14: error PS1104: `X` (?x? f32, global) has no dimension 2
// EXPECT:    14 |     auto i = b.grid(ceil_div(X.size(2), 16));
// EXPECT:       |                              ^
// EXPECT:   help: dimensions are counted from 0; the last one is 1
