//===- load-outside-tile.cpp - A constant index is outside of its tile ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Last {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(64);
    b.copy(X.at(0), x);
    b.store(Y.at(0), b.load(x, 64));
  }
};
} // namespace

WRONG_PROGRAM { compile(Last{}, Target::native()); }

// EXPECT: load-outside-tile.cpp:14: error PS1107: index 64 of dimension 0 lies outside of `x` (64 f32, local)
// EXPECT:    14 |     b.store(Y.at(0), b.load(x, 64));
// EXPECT:       |                      ^
// EXPECT:   help: the last index there is 63
