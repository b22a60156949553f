//===- kernel.h - Layer normalization ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = (x - mean) / sqrt(variance + eps) * gamma + beta, for each row. Shows
// narrow elements with wide arithmetic, a scalar argument, and a mask.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_LAYER_NORM_KERNEL_H
#define PENSTOCK_EXAMPLES_LAYER_NORM_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct LayerNorm {
  int block_m = 16, block_n = 128;
  static constexpr auto signature = "X[M,N], gamma[N], beta[N], eps -> Y[M,N]";

  void operator()(Block &b, In<bf16, 2> X, In<f32, 1> gamma, In<f32, 1> beta, Scalar<f32> eps,
                  Out<bf16, 2> Y) const {
    auto [M, N] = X.sizes();
    Index m0 = b.grid(ceil_div(M, block_m)) * block_m;
    auto count = cast<f32>(N);

    // The tensor holds bf16; all arithmetic is done in f32. Copies convert.
    auto x = b.local<f32>(block_m, block_n);
    auto mean = b.local<f32>(block_m);
    auto scale = b.local<f32>(block_m); // 1 / sqrt(variance + eps)
    auto g = b.local<f32>(block_n);
    auto h = b.local<f32>(block_n);

    b.fill(mean, 0);
    for (Index n : b.range(ceil_div(N, block_n))) {
      b.copy(X.at(m0, n * block_n), x); // zeros outside: they add nothing
      b.reduce(Sum, x, 1, mean, {.accumulate = true});
    }
    b.set(mean, mean / count);

    // A second pass for the variance: the difference of two large sums, as in
    // mean(x * x) - mean * mean, would lose all digits for rows far from zero.
    b.fill(scale, 0);
    for (Index n : b.range(ceil_div(N, block_n))) {
      b.copy(X.at(m0, n * block_n), x);
      // Here the zeros outside would count, so the mask keeps them out. col(x)
      // is the column of each element inside of the tile.
      b.set(x, where(col(x) + n * block_n < N,
                     (x - broadcast_rows(mean)) * (x - broadcast_rows(mean)), 0));
      b.reduce(Sum, x, 1, scale, {.accumulate = true});
    }
    b.set(scale, rsqrt(scale / count + eps));

    for (Index n : b.range(ceil_div(N, block_n))) {
      b.copy(X.at(m0, n * block_n), x);
      b.copy(gamma.at(n * block_n), g);
      b.copy(beta.at(n * block_n), h);
      b.set(x, (x - broadcast_rows(mean)) * broadcast_rows(scale) * broadcast_cols(g) +
                   broadcast_cols(h));
      b.copy(x, Y.at(m0, n * block_n)); // rounds to bf16
    }
  }

  static auto space() {
    return Space<LayerNorm>()
        .over(&LayerNorm::block_m, {4, 8, 16, 32})
        .over(&LayerNorm::block_n, {64, 128, 256});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_LAYER_NORM_KERNEL_H
