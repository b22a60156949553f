//===- tile-versions-negative.cpp - A tile with fewer than no versions ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int stages = 1;

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(16, 16, {.versions = stages - 2});
    b.copy(X.at(0, 0), x);
    b.copy(x, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tile-versions-negative.cpp:14: error PS1101: `x` is declared with -1 versions; between 1 and 1024 are possible
// EXPECT:    14 |     auto x = b.shared<f32>(16, 16, {.versions = stages - 2});
// EXPECT:       |              ^
// EXPECT:   help: leave .versions out to have their number computed
