//===- copy-dims-count.cpp - dims() names one dimension for a tile of two -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Gather {
  static constexpr auto signature = "X[B,M,N] -> Y[M,N]";

  void operator()(Block &b, In<f32, 3> X, Out<f32, 2> Y) const {
    auto x = b.local<f32>(16, 64);
    b.copy(X.at(0, 0, 0).dims(2), x);
    b.copy(x, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Gather{}, Target::native()); }

// EXPECT: copy-dims-count.cpp:15: error PS1102: `dims` names 1 dimension of `X` (?x?x? f32, global) for `x` (16x64 f32, local), which has 2
// EXPECT:    15 |     b.copy(X.at(0, 0, 0).dims(2), x);
// EXPECT:       |     ^
// EXPECT:   help: name one dimension of the tensor for each dimension of the tile
