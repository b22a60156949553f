//===- scaled-gemm-accumulator.cpp - A sum with too many rows -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b, In<f8e4m3, 2> A, In<f8e8m0, 4> S, Out<f32, 2> C) const {
    auto As = b.shared<f8e4m3>(384, 128), Bs = b.shared<f8e4m3>(128, 128);
    auto SA = b.shared<f8e8m0>(3, 1, 32, 16), SB = b.shared<f8e8m0>(1, 1, 32, 16);
    auto acc = b.local<f32>(384, 128);
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

WRONG_PROGRAM { compile(Product{}, Target::sm_100a()); }

// EXPECT: scaled-gemm-accumulator.cpp:20: error PS1764: the tensor core of sm_100a does not multiply `As` (384x128 f8 e4m3, shared) by `Bs` (128x128 f8 e4m3, shared) into `acc` (384x128 f32, local) with scales
// EXPECT:    20 |     b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
// EXPECT:       |     ^
// EXPECT:   help: operands and scales are shared tiles, the accumulator is a local one of 128 or 256 rows and 128 or 256 columns; tensor memory has 512 columns for accumulators and scales
