//===- set-missing-rows.cpp - A vector is used like a matrix --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Normalize {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.local<f32>(16, 64);
    auto top = b.local<f32>(16);
    b.copy(X.at(0, 0), x);
    b.reduce(Max, x, 1, top);
    b.set(x, exp(x - top));
    b.copy(x, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Normalize{}, Target::native()); }

// EXPECT: set-missing-rows.cpp:16: error PS1118: `top` (16 f32, local) does not have the shape of `x` (16x64 f32, local)
// EXPECT:    16 |     b.set(x, exp(x - top));
// EXPECT:       |     ^
// EXPECT:   help: did you mean `broadcast_rows(top)`?
