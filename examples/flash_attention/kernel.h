//===- kernel.h - Attention without the matrix of scores --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// O = softmax(Q K^T / sqrt(D)) V for each of H heads, optionally causal: query
// i then sees the keys 0 .. i. The scores are computed tile by tile and never
// written to memory. Shows two products in one pipelined loop, grouped
// statements, and choices at compile time beside values at run time.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_FLASH_ATTENTION_KERNEL_H
#define PENSTOCK_EXAMPLES_FLASH_ATTENTION_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct FlashAttention {
  // `dim` is the size of a head; smaller heads work too, filled up with zeros.
  int block_m = 64, block_n = 64, dim = 64, stages = 2;
  bool causal = false;
  // Sums stay relative to a smaller score until the largest one exceeds it by this power of two:
  // tiles without such a score are summed without scaling. 0: each new one counts.
  int slack = 0;
  static constexpr auto signature = "Q[H,M,D], K[H,N,D], V[H,N,D], scale -> O[H,M,D]";

  // scale is log2(e) / sqrt(D): the kernel uses powers of two, which are
  // cheaper.
  void operator()(Block &b, In<f16, 3> Q, In<f16, 3> K, In<f16, 3> V, Scalar<f32> scale,
                  Out<f16, 3> O) const {
    auto [H, M, D] = Q.sizes();
    auto N = K.size(1);
    b.require(D <= dim, "the kernel was compiled for smaller heads");
    auto [bm, h] = b.grid(ceil_div(M, block_m), H);
    Index m0 = bm * block_m;

    auto Qs = b.shared<f16>(block_m, dim);
    auto Ks = b.shared<f16>(block_n, dim);
    auto Vs = b.shared<f16>(block_n, dim);
    auto S = b.local<f32>(block_m, block_n); // scores of one tile of keys
    auto P = b.local<f16>(block_m, block_n); // their weights, before division
    auto out = b.local<f32>(block_m, dim);
    auto top = b.local<f32>(block_m); // each row's largest score so far
    auto old = b.local<f32>(block_m);
    auto scale_old = b.local<f32>(block_m);
    auto sum = b.local<f32>(block_m); // each row's sum of weights so far
    auto part = b.local<f32>(block_m);

    b.copy(Q.at(h, m0, 0), Qs);
    b.fill(out, 0);
    b.fill(sum, 0);
    b.fill(top, -infinity);

    // Keys after the last query of this block are hidden from all of it. The
    // plain `if` is a choice at compile time: only one of the two is recorded.
    Index keys = causal ? min(N, m0 + block_m) : N;

    for (Index n : b.pipelined(ceil_div(keys, block_n), {.num_stages = stages})) {
      Index n0 = n * block_n;
      b.copy(K.at(h, n0, 0), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("softmax", [&] { // one slot in the pipeline's schedule
        // Keys outside of the tensor were read as zero and have a score of
        // zero; like the keys after the diagonal they must not count. Every
        // row sees the first key, so `top` is finite from the first tile on.
        auto seen = col(S) + n0 < N;
        if (causal)
          seen = seen && row(S) + m0 >= col(S) + n0;
        b.set(S, where(seen, S, -infinity));
        b.copy(top, old);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        if (slack)
          b.set(top, where((top - old) * scale > float(slack), top, old));
        // What was summed so far was relative to the old largest score.
        b.set(scale_old, exp2((old - top) * scale));
        b.set(P, exp2(S * scale - broadcast_rows(top) * scale)); // rounds to f16
        // The sum is of the rounded weights, so that they add up to one.
        b.reduce(Sum, P, 1, part);
        b.set(sum, sum * scale_old + part);
        b.set(out, out * broadcast_rows(scale_old));
      });
      b.copy(V.at(h, n0, 0), Vs);
      b.gemm(P, Vs, out);
    }

    // Without any key there is nothing to attend to, and the result is zero.
    b.set(sum, where(sum > 0, 1 / sum, 0)); // one division for each row
    b.set(out, out * broadcast_rows(sum));
    b.copy(out, O.at(h, m0, 0));
  }

  static auto space() {
    return Space<FlashAttention>()
        .over(&FlashAttention::block_m, {64, 128, 256})
        .over(&FlashAttention::block_n, {32, 64, 128})
        .over(&FlashAttention::stages, {2, 3});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_FLASH_ATTENTION_KERNEL_H
