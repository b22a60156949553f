//===- kernel.h - A convolution of images, as a matrix product --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images are NHWC, filters [O, 9, C]: 3 x 3 taps, and a border of one pixel. A block
// computes a rectangle of pixels, as rows of a matrix (`as_matrix`). The pipelined loop runs
// over taps and channels: each step copies the pixels that one tap sees, a box that is
// shifted by -1 to 1 in both directions. Boxes may begin before the tensor and end after
// it; what lies outside is 0, so that borders need no code. On GPUs, TMA copies such boxes
// by itself.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_CONVOLUTION_KERNEL_H
#define PENSTOCK_EXAMPLES_CONVOLUTION_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct Convolution {
  int block_h = 8, block_w = 16, block_n = 128, block_k = 64, stages = 3;
  static constexpr auto signature = "X[B,H,W,C], F[O,T,C] -> Y[B,H,W,O]";

  void operator()(Block &b, In<f16, 4> X, In<f16, 3> F, Out<f16, 4> Y) const {
    auto [B, H, W, C] = X.sizes();
    auto O = F.size(0);
    b.require(F.size(1) == 9, "filters have 3 x 3 taps");
    auto tiles_w = ceil_div(W, block_w);
    auto [image, bh, tile] = b.grid(B, ceil_div(H, block_h), tiles_w * ceil_div(O, block_n));
    auto [bn, bw] = fast_divmod(tile, max(tiles_w, 1));
    Index y0 = bh * block_h, x0 = bw * block_w, n0 = bn * block_n;

    auto Xs = b.shared<f16>(block_h, block_w, block_k);
    auto Fs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_h, block_w, block_n);
    b.fill(acc, 0);
    auto steps = ceil_div(C, block_k);
    for (Index k : b.pipelined(9 * steps, {.num_stages = stages})) {
      auto [tap, step] = fast_divmod(k, max(steps, 1));
      Index c0 = step * block_k;
      b.copy(X.at(image, y0 + tap / 3 - 1, x0 + tap % 3 - 1, c0), Xs);
      b.copy(F.at(n0, tap, c0).dims(0, 2), Fs);
      b.gemm(as_matrix(Xs), transposed(Fs), as_matrix(acc));
    }
    b.copy(acc, Y.at(image, y0, x0, n0));
  }

  static auto space() {
    return Space<Convolution>()
        .over(&Convolution::block_h, {4, 8, 16})
        .over(&Convolution::block_n, {64, 128, 256})
        .over(&Convolution::stages, {2, 3, 4});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_CONVOLUTION_KERNEL_H
