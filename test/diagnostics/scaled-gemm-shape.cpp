//===- scaled-gemm-shape.cpp - Scales of another shape --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b, In<f4e2m1x2, 2> A, In<f8e8m0, 4> S, Out<f32, 2> C) const {
    auto As = b.shared<f4e2m1x2>(128, 128), Bs = b.shared<f4e2m1x2>(128, 128);
    auto SA = b.shared<f8e8m0>(1, 2, 32, 16), SB = b.shared<f8e8m0>(1, 4, 32, 16);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    b.copy(A.at(0, 0), As);
    b.copy(A.at(0, 0), Bs);
    b.copy(S.at(0, 0, 0, 0), SA);
    b.copy(S.at(0, 0, 0, 0), SB);
    b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::native()); }

// EXPECT: scaled-gemm-shape.cpp:20: error PS1764: the scales `SB` (1x4x32x16 f8 e8m0, shared) do not fit 128 columns and 256 values of k
// EXPECT:    20 |     b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
// EXPECT:       |     ^
// EXPECT:   help: their shape is 1x2x32x16: 128 columns by 4 blocks of 32 values each
