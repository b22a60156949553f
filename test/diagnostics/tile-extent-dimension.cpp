//===- tile-extent-dimension.cpp - A dimension a tile does not have -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.local<f32>(16, 64);
    b.copy(X.at(0, 0), x);
    for (int n = 0; n < x.extent(2); n += 16)
      b.copy(slice(x, {0, n}, {16, 1}), Y.at(0, n));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tile-extent-dimension.cpp:14: error PS1104: `x` (16x64 f32, local) has no dimension 2
// EXPECT:    14 |     for (int n = 0; n < x.extent(2); n += 16)
// EXPECT:       |                         ^
// EXPECT:   help: dimensions are counted from 0; the last one is 1
