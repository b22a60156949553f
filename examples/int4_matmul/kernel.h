//===- kernel.h - y = x * weight^T with 4-bit weights -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_INT4_MATMUL_KERNEL_H
#define PENSTOCK_EXAMPLES_INT4_MATMUL_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

/// Weights are -8 to 7 times a scale for each output and each `group` inputs. The product is
/// computed as weight * x^T, so that the weights that threads unpack and scale are its left
/// operand, which tensor cores read from registers (Hopper) or tensor memory (Blackwell).
struct Int4Matmul {
  int block_m = 64, block_n = 128, block_k = 64, group = 64, stages = 3;
  static constexpr auto signature = "x[M,K], weight[N,P], scale[N,S] -> y[M,N]";

  void operator()(Block &b, In<f16, 2> x, In<i4x2, 2> weight, In<f16, 2> scale,
                  Out<f16, 2> y) const {
    auto [M, K] = x.sizes();
    auto N = weight.size(0);
    b.require(
        weight.size(1) * 2 == K && scale.size(1) * group == K && K % block_k == 0,
        "K is a multiple of `group` and `block_k`, with K/2 bytes and K/group scales for each "
        "output");
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(8));
    auto Xs = b.shared<f16>(block_m, block_k);
    auto Ws = b.shared<i4x2>(block_n, block_k / 2);
    auto w = b.local<f16>(block_n, block_k);
    auto s = b.local<f16>(block_n);
    auto acc = b.local<f32>(block_n, block_m);
    auto Ys = b.shared<f16>(block_n, block_m);

    b.fill(acc, 0);
    for (Index k : b.pipelined(K / block_k, {.num_stages = stages})) {
      b.copy(weight.at(bn * block_n, k * (block_k / 2)), Ws);
      b.copy(x.at(bm * block_m, k * block_k), Xs);
      b.copy(scale.at(bn * block_n, k * block_k / group).dims(0), s);
      b.statement("dequantize", [&] {
        b.unpack(Ws, w);
        b.set(w, w * broadcast_rows(s));
      });
      b.gemm(w, transposed(Xs), acc);
    }
    b.copy(acc, Ys);
    b.copy(transposed(Ys), y.at(bm * block_m, bn * block_n));
  }

  static auto space() {
    return Space<Int4Matmul>()
        .over(&Int4Matmul::block_m, {64, 128})
        .over(&Int4Matmul::block_n, {64, 128})
        .over(&Int4Matmul::stages, {2, 3, 4});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_INT4_MATMUL_KERNEL_H
