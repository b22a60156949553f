//===- moe_matmul.h - Products of tokens with their experts' weights *- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_MOE_MATMUL_H
#define PENSTOCK_EXAMPLES_GALLERY_MOE_MATMUL_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// Tokens are sorted by expert, and padded so that each block of rows has one: experts[i] is the
/// expert of rows i * block_m .. (i + 1) * block_m - 1; blocks of a negative expert are skipped.
struct MoeMatmul {
  int block_m = 64, block_n = 128, block_k = 64, stages = 3;
  static constexpr auto signature = "x[T,K], weights[E,N,K], experts[B] in -1..E-1 -> y[T,N]";

  void operator()(Block &b, In<f16, 2> x, In<f16, 3> weights, In<i32, 1> experts,
                  Out<f16, 2> y) const {
    auto [T, K] = x.sizes();
    auto N = weights.size(1);
    b.require(experts.size(0) == ceil_div(T, block_m), "one expert for each block of rows");
    auto [bn, bm] = b.grid(ceil_div(N, block_n), ceil_div(T, block_m));
    Index expert = cast<index_t>(b.bind("expert", experts.load(bm)));
    b.require(expert < weights.size(0), "an expert without weights");
    b.when(expert >= 0, [&] {
      auto Xs = b.shared<f16>(block_m, block_k);
      auto Ws = b.shared<f16>(block_n, block_k);
      auto acc = b.local<f32>(block_m, block_n);
      b.fill(acc, 0);
      for (Index k : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
        b.copy(x.at(bm * block_m, k * block_k), Xs);
        b.copy(weights.at(expert, bn * block_n, k * block_k), Ws);
        b.gemm(Xs, transposed(Ws), acc);
      }
      b.copy(acc, y.at(bm * block_m, bn * block_n));
    });
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_MOE_MATMUL_H
