//===- loop-return.cpp - A return out of two tile loops -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.local<f32>(16, 16);
    for (Index i : b.range(0, X.size(0), 16))
      for (Index j : b.range(0, X.size(1), 16)) {
        b.copy(X.at(i, j), x);
        b.copy(x, Y.at(i, j));
        return;
      }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: loop-return.cpp:14: error PS1001: the body of this loop was left before its end, by break or return
// EXPECT:    14 |       for (Index j : b.range(0, X.size(1), 16)) {
// EXPECT:       |                      ^
// EXPECT: loop-return.cpp:16: note: this was recorded last before it was left
// EXPECT:    16 |         b.copy(x, Y.at(i, j));
// EXPECT:       |         ^
// EXPECT:   help: the body of a tile loop is recorded once and runs for every iteration; use b.when(..) for what depends on the iteration
