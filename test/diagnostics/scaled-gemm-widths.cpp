//===- scaled-gemm-widths.cpp - Operands with different numbers of values -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b, In<f8e4m3, 2> A, In<f6e3m2_packed, 2> B, In<f8e8m0, 4> S,
                  Out<f32, 2> C) const {
    auto As = b.shared<f8e4m3>(128, 128);
    auto Bs = b.shared<f6e3m2_packed>(128, 192);
    auto SA = b.shared<f8e8m0>(1, 1, 32, 16);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.copy(S.at(0, 0, 0, 0), SA);
    b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SA});
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::native()); }

// EXPECT: scaled-gemm-widths.cpp:21: error PS1102: the inner sizes of `gemm` differ: `As` (128x128 f8 e4m3, shared) times `Bs` (192x128 f6e3m2_packed, shared)
// EXPECT:    21 |     b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SA});
// EXPECT:       |     ^
// EXPECT:   help: the first operand has 128 values of k, the second 256
