//===- gemm-accumulator-shape.cpp - The accumulator is N x M --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto As = b.shared<f16>(64, 32);
    auto Bs = b.shared<f16>(128, 32);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.gemm(As, transposed(Bs), acc);
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::native()); }

// EXPECT: gemm-accumulator-shape.cpp:18: error PS1102: the product of `As` (64x32 f16, shared) and `Bs` (32x128 f16, shared) is 64x128, but the accumulator is `acc` (128x64 f32, local)
// EXPECT:    18 |     b.gemm(As, transposed(Bs), acc);
// EXPECT:       |     ^
// EXPECT:   help: the first operand is M x K, the second K x N and the accumulator M x N
