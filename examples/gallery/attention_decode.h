//===- attention_decode.h - Attention of one token per sequence -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_ATTENTION_DECODE_H
#define PENSTOCK_EXAMPLES_GALLERY_ATTENTION_DECODE_H

#include "gallery/online_softmax.h"

namespace gallery {
using namespace penstock;

/// One new token of each of B sequences against its cache of keys and values. R query heads share
/// each of G heads of the cache; they are the rows of a tile.
struct AttentionDecode {
  int rows = 16, block_n = 64, dim = 64, stages = 2;
  static constexpr auto signature =
      "q[B,G,R,D], K[B,G,N,D], V[B,G,N,D], lengths[B] in 0..N, scale -> o[B,G,R,D]";

  void operator()(Block &b, In<f16, 4> q, In<f16, 4> K, In<f16, 4> V, In<i32, 1> lengths,
                  Scalar<f32> scale, Out<f16, 4> o) const {
    b.require(q.size(2) <= rows && q.size(3) <= dim, "the kernel was compiled for smaller heads");
    auto [g, sequence] = b.grid(q.size(1), q.size(0));
    Index length = max(cast<index_t>(b.bind("length", lengths.load(sequence))), 0);
    b.require(length <= K.size(2), "a sequence is longer than its cache");
    auto Qs = b.shared<f16>(rows, dim), Ks = b.shared<f16>(block_n, dim);
    auto Vs = b.shared<f16>(block_n, dim);
    auto S = b.local<f32>(rows, block_n);
    auto P = b.local<f16>(rows, block_n);
    auto out = b.local<f32>(rows, dim);
    OnlineSoftmax softmax(b, scale * 1.4426950408889634f, rows);
    b.copy(q.at(sequence, g, 0, 0), Qs); // zeros after the last head
    b.fill(out, 0);
    for (Index n : b.pipelined(ceil_div(length, block_n), {.num_stages = stages})) {
      b.copy(K.at(sequence, g, n * block_n, 0), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("softmax", [&] {
        b.set(S, where(col(S) + n * block_n < length, S, -infinity));
        softmax.weigh(S, P, out);
      });
      b.copy(V.at(sequence, g, n * block_n, 0), Vs);
      b.gemm(P, Vs, out);
    }
    softmax.normalize(out);
    b.copy(out, o.at(sequence, g, 0, 0));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_ATTENTION_DECODE_H
