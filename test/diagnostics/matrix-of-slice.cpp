//===- matrix-of-slice.cpp - A slice whose rows do not follow each other --===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Middle {
  void operator()(Block &b, In<f16, 3> X, Out<f16, 2> Y) const {
    auto Xs = b.shared<f16>(8, 16, 32);
    b.copy(X.at(0, 0, 0), Xs);
    b.copy(as_matrix(slice(Xs, {0, 4, 0}, {8, 8, 32})), Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Middle{}, Target::native()); }

// EXPECT: matrix-of-slice.cpp:14: error PS1757: the rows of `Xs` (8x8x32 f16, shared), a slice, do not lie one after another, as those of a matrix
// EXPECT:    14 |     b.copy(as_matrix(slice(Xs, {0, 4, 0}, {8, 8, 32})), Y.at(0, 0));
// EXPECT:       |            ^
// EXPECT:   help: take as_matrix(..) of the whole tile, and a slice(..) of that
