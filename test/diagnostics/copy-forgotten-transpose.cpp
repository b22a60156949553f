//===- copy-forgotten-transpose.cpp - A copy to the transposed shape ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Transpose {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(64, 16);
    auto y = b.shared<f32>(16, 64);
    b.copy(X.at(0, 0), x);
    b.copy(x, y);
    b.copy(y, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Transpose{}, Target::native()); }

// EXPECT: copy-forgotten-transpose.cpp:15: error PS1102: `copy` goes from `x` (64x16 f32, shared) to `y` (16x64 f32, shared): the shapes differ
// EXPECT:    15 |     b.copy(x, y);
// EXPECT:       |     ^
// EXPECT:   help: did you mean `transposed(x)`?
