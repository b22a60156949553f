//===- copy-overlapping.cpp - A tile is shifted by copying it onto itself -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Shift {
  void operator()(Block &b, InOut<f32, 2> X) const {
    auto x = b.shared<f32>(8, 64);
    b.copy(X.at(0, 0), x);
    b.copy(slice(x, {0, 0}, {7, 64}), slice(x, {1, 0}, {7, 64}));
    b.copy(x, X.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Shift{}, Target::native()); }

// EXPECT: copy-overlapping.cpp:14: error PS1102: `copy` reads and writes overlapping parts of `x`
// EXPECT:    14 |     b.copy(slice(x, {0, 0}, {7, 64}), slice(x, {1, 0}, {7, 64}));
// EXPECT:       |     ^
// EXPECT:   help: copy through a tile of its own
