//===- loop-break.cpp - A tile loop is left by break ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Find {
  bool first_only = true;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(64);
    for (Index i : b.range(0, X.size(0), 64)) {
      b.copy(X.at(i), x);
      b.copy(x, Y.at(i));
      if (first_only)
        break;
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Find{}, Target::native()); }

// EXPECT: loop-break.cpp:15: error PS1001: the body of this loop was left before its end, by break or return
// EXPECT:    15 |     for (Index i : b.range(0, X.size(0), 64)) {
// EXPECT:       |                    ^
// EXPECT: loop-break.cpp:17: note: this was recorded last before it was left
// EXPECT:    17 |       b.copy(x, Y.at(i));
// EXPECT:       |       ^
// EXPECT:   help: the body of a tile loop is recorded once and runs for every iteration; use b.when(..) for what depends on the iteration
