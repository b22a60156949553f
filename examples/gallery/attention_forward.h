//===- attention_forward.h - Attention over all keys ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_ATTENTION_FORWARD_H
#define PENSTOCK_EXAMPLES_GALLERY_ATTENTION_FORWARD_H

#include "gallery/online_softmax.h"

namespace gallery {
using namespace penstock;

/// Attention of H query heads that share G heads of keys and values.
struct AttentionForward {
  int block_m = 64, block_n = 64, dim = 64, stages = 2; // dim: the largest head
  bool causal = true;
  static constexpr auto signature = "Q[H,M,D], K[G,N,D], V[G,N,D], scale -> O[H,M,D]";

  void operator()(Block &b, In<f16, 3> Q, In<f16, 3> K, In<f16, 3> V, Scalar<f32> scale,
                  Out<f16, 3> O) const {
    auto [H, M, D] = Q.sizes();
    auto N = K.size(1);
    b.require(D <= dim, "the kernel was compiled for smaller heads");
    auto [bm, h] = b.grid(ceil_div(M, block_m), H);
    Index m0 = bm * block_m, g = h * K.size(0) / H;
    auto Qs = b.shared<f16>(block_m, dim), Ks = b.shared<f16>(block_n, dim);
    auto Vs = b.shared<f16>(block_n, dim);
    auto S = b.local<f32>(block_m, block_n);
    auto P = b.local<f16>(block_m, block_n);
    auto out = b.local<f32>(block_m, dim);
    OnlineSoftmax softmax(b, scale * 1.4426950408889634f, block_m);
    b.copy(Q.at(h, m0, 0), Qs);
    b.fill(out, 0);
    // The last query sees the last key.
    Index keys = causal ? min(N, max(N - M + m0 + block_m, 0)) : N;
    for (Index n : b.pipelined(ceil_div(keys, block_n), {.num_stages = stages})) {
      b.copy(K.at(g, n * block_n, 0), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("softmax", [&] {
        auto seen = col(S) + n * block_n < N;
        if (causal)
          seen = seen && row(S) + m0 + N - M >= col(S) + n * block_n;
        b.set(S, where(seen, S, -infinity));
        softmax.weigh(S, P, out);
      });
      b.copy(V.at(g, n * block_n, 0), Vs);
      b.gemm(P, Vs, out);
    }
    softmax.normalize(out);
    b.copy(out, O.at(h, m0, 0));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_ATTENTION_FORWARD_H
