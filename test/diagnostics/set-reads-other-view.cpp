//===- set-reads-other-view.cpp - A tile is transposed in place -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Symmetrize {
  void operator()(Block &b, InOut<f32, 2> X) const {
    auto x = b.local<f32>(32, 32);
    b.copy(X.at(0, 0), x);
    b.set(x, (x + transposed(x)) / 2);
    b.copy(x, X.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Symmetrize{}, Target::native()); }

// EXPECT: set-reads-other-view.cpp:14: error PS1118: `set` reads another view of the tile that it writes, `x` (32x32 f32, local)
// EXPECT:    14 |     b.set(x, (x + transposed(x)) / 2);
// EXPECT:       |     ^
// EXPECT:   help: copy what you read into a tile of its own first
