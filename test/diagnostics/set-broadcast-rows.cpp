//===- set-broadcast-rows.cpp - A vector of the wrong length for broadcast_rows() -===//
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
    auto mean = b.local<f32>(64);
    b.copy(X.at(0, 0), x);
    b.reduce(Sum, x, 0, mean);
    b.set(x, x - broadcast_rows(mean) / 16);
    b.copy(x, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Normalize{}, Target::native()); }

// EXPECT: set-broadcast-rows.cpp:16: error PS1118: `mean` (64 f32, local) has one value for each of 64 rows, but `x` (16x64 f32, local) has 16
// EXPECT:    16 |     b.set(x, x - broadcast_rows(mean) / 16);
// EXPECT:       |     ^
// EXPECT:   help: did you mean `broadcast_cols(mean)`?
