//===- matrix-of-reduced-tile.cpp - A box that is also reduced ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Pooling {
  void operator()(Block &b, In<f16, 3> X, In<f16, 2> F, Out<f32, 2> Y) const {
    auto Xs = b.shared<f16>(8, 16, 32);
    auto Fs = b.shared<f16>(32, 64);
    auto acc = b.local<f32>(8, 16, 64);
    auto rows = b.local<f32>(8, 64);
    b.copy(X.at(0, 0, 0), Xs);
    b.copy(F.at(0, 0), Fs);
    b.gemm(as_matrix(Xs), Fs, as_matrix(acc), {.accumulate = false});
    b.reduce(Max, acc, 1, rows);
    b.copy(rows, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Pooling{}, Target::native()); }

// EXPECT: matrix-of-reduced-tile.cpp:19: error PS1757: `reduce` uses `acc` (8x16x64 f32, local) with its own dimensions, and its rows are those of a matrix
// EXPECT:    19 |     b.reduce(Max, acc, 1, rows);
// EXPECT:       |     ^
// EXPECT: matrix-of-reduced-tile.cpp:18: note: the tile is used as a matrix here
// EXPECT:    18 |     b.gemm(as_matrix(Xs), Fs, as_matrix(acc), {.accumulate = false});
// EXPECT:       |                               ^
// EXPECT:   help: use as_matrix(acc) here, too; with their own dimensions, such tiles are copied from and to tensors, filled, and set from tiles of the same shape
