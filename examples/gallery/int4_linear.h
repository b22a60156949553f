//===- int4_linear.h - y = x * weight^T with 4-bit weights ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_INT4_LINEAR_H
#define PENSTOCK_EXAMPLES_GALLERY_INT4_LINEAR_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// Weights are 0 .. 15 minus 8, times a scale for each output and each 64 inputs. The 32 bytes of a
/// group hold inputs 0 .. 31 in their low halves and 32 .. 63 in their high halves.
struct Int4Linear {
  int block_m = 64, block_n = 64, stages = 2;
  static constexpr auto signature = "x[M,K], packed[N,P], scales[N,S] -> y[M,N]";

  void operator()(Block &b, In<f16, 2> x, In<i8, 2> packed, In<f16, 2> scales,
                  Out<f16, 2> y) const {
    auto [M, K] = x.sizes();
    auto N = packed.size(0);
    b.require(K % 64 == 0 && packed.size(1) * 2 == K && scales.size(1) * 64 == K,
              "K must be a multiple of 64, with K/2 bytes and K/64 scales for each output");
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto Xs = b.shared<f16>(block_m, 64);
    auto bytes = b.local<i8>(block_n, 32);
    auto scale = b.local<f32>(block_n);
    auto low = b.local<f16>(block_n, 32), high = b.local<f16>(block_n, 32);
    auto acc = b.local<f32>(block_m, block_n);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = stages})) {
      b.copy(x.at(bm * block_m, k * 64), Xs);
      b.copy(packed.at(bn * block_n, k * 32), bytes);
      b.copy(scales.at(bn * block_n, k).dims(0), scale);
      b.statement("dequantize", [&] {
        auto value = cast<i32>(bytes);
        b.set(low, cast<f32>((value & 15) - 8) * broadcast_rows(scale));
        b.set(high, cast<f32>((value & 240) / 16 - 8) * broadcast_rows(scale));
      });
      b.gemm(slice(Xs, {0, 0}, {block_m, 32}), transposed(low), acc);
      b.gemm(slice(Xs, {0, 32}, {block_m, 32}), transposed(high), acc);
    }
    b.copy(acc, y.at(bm * block_m, bn * block_n));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_INT4_LINEAR_H
