//===- gemm-forgotten-transpose.cpp - B is N x K and not transposed -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  int block_m = 64, block_n = 128, block_k = 32;

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    b.fill(acc, 0);
    for (Index ko : b.pipelined(ceil_div(A.size(1), block_k), {.num_stages = 2})) {
      b.copy(A.at(0, ko * block_k), As);
      b.copy(B.at(0, ko * block_k), Bs);
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::native()); }

// EXPECT: gemm-forgotten-transpose.cpp:20: error PS1102: the inner sizes of `gemm` differ: `As` (64x32 f16, shared) times `Bs` (128x32 f16, shared)
// EXPECT:    20 |       b.gemm(As, Bs, acc);
// EXPECT:       |       ^
// EXPECT:   help: the second operand is K x N; did you mean `transposed(Bs)`?
