//===- copy-transposed-in-place.cpp - A tile is transposed onto itself ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Transpose {
  void operator()(Block &b, InOut<f32, 2> X) const {
    auto x = b.shared<f32>(32, 32);
    b.copy(X.at(0, 0), x);
    b.copy(transposed(x), x);
    b.copy(x, X.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Transpose{}, Target::native()); }

// EXPECT: copy-transposed-in-place.cpp:14: error PS1102: `copy` reads and writes overlapping parts of `x`
// EXPECT:    14 |     b.copy(transposed(x), x);
// EXPECT:       |     ^
// EXPECT:   help: copy through a tile of its own
