//===- ReadmeMatmul.h - The README's kernel ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_READMEMATMUL_H
#define PENSTOCK_BENCHMARKS_NATIVE_READMEMATMUL_H

#include <penstock/penstock.h>

namespace bench {
using namespace penstock;

struct Matmul {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(8));
    auto As = b.shared<f16>(block_m, block_k);
    auto Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);

    b.fill(acc, 0);
    for (Index ko : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
      b.copy(A.at(bm * block_m, ko * block_k), As);
      b.copy(B.at(bn * block_n, ko * block_k), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n));
  }
};

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_READMEMATMUL_H
