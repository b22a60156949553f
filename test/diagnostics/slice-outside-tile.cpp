//===- slice-outside-tile.cpp - A slice reaches over the end of its tile --===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Halves {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(64, 48);
    b.copy(X.at(0, 0), x);
    for (int n = 0; n < 64; n += 32)
      b.copy(slice(x, {0, n}, {64, 32}), Y.at(0, n));
  }
};
} // namespace

WRONG_PROGRAM { compile(Halves{}, Target::native()); }

// EXPECT: slice-outside-tile.cpp:15: error PS1107: a slice of 32 elements at 32 along dimension 1 lies outside of `x` (64x48 f32, shared)
// EXPECT:    15 |       b.copy(slice(x, {0, n}, {64, 32}), Y.at(0, n));
// EXPECT:       |              ^
// EXPECT:   help: offset and size together are at most 48 there
