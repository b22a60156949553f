//===- kernel.h - gelu(A B^T + bias) ----------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear layer with its activation. Shows a matrix product in f16 with sums
// in f32, a pipelined loop, a swizzled grid, and an epilogue on the
// accumulator that saves a round trip through memory.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_MATMUL_BIAS_GELU_KERNEL_H
#define PENSTOCK_EXAMPLES_MATMUL_BIAS_GELU_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct MatmulBiasGelu {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3, group = 8;
  static constexpr auto signature = "A[M,K], B[N,K], bias[N] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f16, 1> bias, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);

    // Blocks that run at the same time should share rows of A and of B in the
    // cache, so consecutive blocks walk through narrow groups of columns.
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(group));
    Index m0 = bm * block_m, n0 = bn * block_n;

    auto As = b.shared<f16>(block_m, block_k);
    auto Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    auto bs = b.local<f32>(block_n);

    // While one tile is multiplied, the next ones are on their way. Zeros
    // outside of the tensors add nothing to the sums.
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
      b.copy(A.at(m0, k * block_k), As);
      b.copy(B.at(n0, k * block_k), Bs);
      b.gemm(As, transposed(Bs), acc);
    }

    // The epilogue: gelu(x) = x / 2 (1 + erf(x / sqrt 2)), all in f32.
    const float rootHalf = 0.70710678f;
    b.copy(bias.at(n0), bs);
    b.set(acc, acc + broadcast_cols(bs));
    b.set(acc, acc * 0.5f * (erf(acc * rootHalf) + 1));
    b.copy(acc, C.at(m0, n0)); // rounds to f16, and clips at the edges
  }

  static auto space() {
    return Space<MatmulBiasGelu>()
        .over(&MatmulBiasGelu::block_m, {64, 128})
        .over(&MatmulBiasGelu::block_n, {64, 128, 256})
        .over(&MatmulBiasGelu::stages, {2, 3, 4});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_MATMUL_BIAS_GELU_KERNEL_H
