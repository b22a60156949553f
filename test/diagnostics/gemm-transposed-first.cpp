//===- gemm-transposed-first.cpp - A is stored K x M and not transposed ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto Qs = b.shared<f16>(32, 64);
    auto Ks = b.shared<f16>(32, 128);
    auto S = b.local<f32>(64, 128);
    b.copy(A.at(0, 0), Qs);
    b.copy(B.at(0, 0), Ks);
    b.gemm(Qs, Ks, S, {.accumulate = false});
    b.copy(S, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::interpreter()); }

// EXPECT: gemm-transposed-first.cpp:17: error PS1102: the inner sizes of `gemm` differ: `Qs` (32x64 f16, shared) times `Ks` (32x128 f16, shared)
// EXPECT:    17 |     b.gemm(Qs, Ks, S, {.accumulate = false});
// EXPECT:       |     ^
// EXPECT:   help: the first operand is M x K; did you mean `transposed(Qs)`?
