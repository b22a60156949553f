//===- fp8_linear.h - y = x * weight^T with 8-bit operands ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_FP8_LINEAR_H
#define PENSTOCK_EXAMPLES_GALLERY_FP8_LINEAR_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// Both operands are e4m3, with a scale for each token and each output.
struct Fp8Linear {
  int block_m = 64, block_n = 128, block_k = 64, stages = 3;
  static constexpr auto signature = "x[M,K], weight[N,K], x_scale[M], weight_scale[N] -> y[M,N]";

  void operator()(Block &b, In<f8e4m3, 2> x, In<f8e4m3, 2> weight, In<f32, 1> x_scale,
                  In<f32, 1> weight_scale, Out<f16, 2> y) const {
    auto [M, K] = x.sizes();
    auto N = weight.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(8));
    auto Xs = b.shared<f8e4m3>(block_m, block_k);
    auto Ws = b.shared<f8e4m3>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    auto left = b.local<f32>(block_m), right = b.local<f32>(block_n);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, block_k), {.num_stages = stages})) {
      b.copy(x.at(bm * block_m, k * block_k), Xs);
      b.copy(weight.at(bn * block_n, k * block_k), Ws);
      b.gemm(Xs, transposed(Ws), acc);
    }
    b.copy(x_scale.at(bm * block_m), left);
    b.copy(weight_scale.at(bn * block_n), right);
    b.set(acc, acc * broadcast_rows(left) * broadcast_cols(right));
    b.copy(acc, y.at(bm * block_m, bn * block_n));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_FP8_LINEAR_H
