//===- parallel-tile-operation.cpp - A tile is set in a parallel body -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(16, 16);
    b.copy(X.at(0, 0), x);
    b.parallel(16, [&](Index i) {
      b.set(x[i], x[i] * 2);
    });
    b.copy(x, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: parallel-tile-operation.cpp:15: error PS1117: `set` is in a parallel body, which works on single elements
// EXPECT:    15 |       b.set(x[i], x[i] * 2);
// EXPECT:       |       ^
// EXPECT:   help: use load, store, atomic and scalars here; move operations on tiles out of it
