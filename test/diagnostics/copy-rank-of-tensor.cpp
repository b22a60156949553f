//===- copy-rank-of-tensor.cpp - A matrix is copied from a vector ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Scale {
  static constexpr auto signature = "bias[N] -> Y[M,N]";

  void operator()(Block &b, In<f32, 1> bias, Out<f32, 2> Y) const {
    auto y = b.local<f32>(16, 64);
    b.copy(bias.at(0), y);
    b.copy(y, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Scale{}, Target::native()); }

// EXPECT: copy-rank-of-tensor.cpp:15: error PS1102: `y` (16x64 f32, local) has a higher rank than `bias` (? f32, global)
// EXPECT:    15 |     b.copy(bias.at(0), y);
// EXPECT:       |     ^
// EXPECT:   help: copy into a tile of the tensor's rank, and use it with broadcast_rows(..) or broadcast_cols(..)
