//===- blackwell.h - Flash attention for Blackwell, roles by hand -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three roles: a warp that loads, a warp that multiplies into tensor memory, and
// a warpgroup whose threads have one row each, for the softmax and the sum. The
// products of one tile of keys are added to the sum in registers, where it can be
// rescaled. Without keys the result is zero.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_ATTENTION_BLACKWELL_H
#define EXAMPLES_ATTENTION_BLACKWELL_H

#include <penstock/penstock.h>
#include <penstock/pipeline.h>

namespace attention {
using namespace penstock;

struct BlackwellAttention {
  int block_m = 128, block_n = 64, dim = 64, stages = 2;
  bool causal = false;
  static constexpr auto signature = "Q[H,M,D], K[H,N,D], V[H,N,D], scale -> O[H,M,D]";

  // scale is log2(e) / sqrt(D).
  void operator()(Block &b, In<f16, 3> Q, In<f16, 3> K, In<f16, 3> V, Scalar<f32> scale,
                  Out<f16, 3> O) const {
    auto M = Q.size(1), N = K.size(1);
    auto [bm, h] = b.grid(ceil_div(M, block_m), Q.size(0));
    auto m0 = bm * block_m;
    Index keys = causal ? min(N, m0 + block_m) : N;
    auto tiles = ceil_div(keys, block_n);

    b.require(Q.size(2) <= dim, "the kernel is made for heads of at most `dim` elements");
    b.threads(192);
    auto Qs = b.shared<f16>(block_m, dim);
    auto Ks = b.shared<f16>(stages, block_n, dim), Vs = b.shared<f16>(stages, block_n, dim);
    auto Ps = b.shared<f16>(block_m, block_n), Os = b.shared<f16>(block_m, dim);
    auto scores = b.tcgen05.alloc<f32>(block_m, block_n);
    auto product = b.tcgen05.alloc<f32>(block_m, dim);
    auto out = b.local<f32>(block_m, dim);
    auto top = b.local<f32>(block_m), old = b.local<f32>(block_m), sum = b.local<f32>(block_m);
    auto part = b.local<f32>(block_m), scale_old = b.local<f32>(block_m);
    // A product frees its slot, so one commit gives it back.
    TmaPipeline k_pipe(b, stages, Ks[0].bytes(), 1), v_pipe(b, stages, Vs[0].bytes(), 1);
    auto [query, scored, weighted, multiplied] = b.mbarrier.alloc<4>({1, 1, 128, 1});

    b.warp(4, [&] {
      b.elect_one([&] { b.mbarrier.arrive_expect(query, Qs.bytes()); });
      b.tma.load(Q.at(h, m0, 0), Qs, query);
      PipelineState k_state = k_pipe.producer_state(), v_state = v_pipe.producer_state();
      for (Index n : b.range(tiles)) {
        k_pipe.producer_acquire(k_state);
        b.tma.load(K.at(h, n * block_n, 0), Ks[k_state.index], k_pipe.producer_barrier(k_state));
        k_state.advance();
        v_pipe.producer_acquire(v_state);
        b.tma.load(V.at(h, n * block_n, 0), Vs[v_state.index], v_pipe.producer_barrier(v_state));
        v_state.advance();
      }
    });
    b.warp(5, [&] {
      b.mbarrier.wait(query, 0);
      Var<unsigned> phase(b, 0);
      PipelineState k_state = k_pipe.consumer_state(), v_state = v_pipe.consumer_state();
      for ([[maybe_unused]] Index n : b.range(tiles)) {
        k_pipe.consumer_wait(k_state);
        b.tcgen05.mma(Qs, transposed(Ks[k_state.index]), scores, {.accumulate = false});
        b.tcgen05.commit(k_pipe.consumer_barrier(k_state));
        b.tcgen05.commit(scored);
        k_state.advance();
        // P is written, and the previous result has been read.
        b.mbarrier.wait(weighted, phase);
        v_pipe.consumer_wait(v_state);
        b.tcgen05.mma(Ps, Vs[v_state.index], product, {.accumulate = false});
        b.tcgen05.commit(v_pipe.consumer_barrier(v_state));
        b.tcgen05.commit(multiplied);
        v_state.advance();
        phase ^= 1u;
      }
    });
    b.warps(0, 4, [&] {
      Var<unsigned> phase(b, 0);
      b.fill(out, 0);
      b.fill(sum, 0);
      b.fill(top, -infinity);
      for (Index n : b.range(tiles)) {
        auto n0 = n * block_n;
        b.mbarrier.wait(scored, phase);
        auto S = b.tcgen05.load(scores);
        b.tcgen05.wait_load();
        auto seen = col(S) + n0 < N;
        if (causal)
          seen = seen && row(S) + m0 >= col(S) + n0;
        b.set(S, where(seen, S, -infinity));
        b.copy(top, old);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(scale_old, exp2((old - top) * scale));
        b.set(S, exp2(S * scale - broadcast_rows(top) * scale));
        b.reduce(Sum, S, 1, part);
        b.set(sum, sum * scale_old + part);
        b.store(Ps, cast<f16>(S));
        b.fence.proxy_async(); // threads wrote what the tensor core reads
        b.mbarrier.arrive(weighted);

        b.mbarrier.wait(multiplied, phase);
        auto added = b.tcgen05.load(product);
        b.tcgen05.wait_load();
        b.set(out, out * broadcast_rows(scale_old) + added);
        phase ^= 1u;
      }
      b.set(sum, where(sum > 0, 1 / sum, 0)); // one division for each row
      b.set(out, out * broadcast_rows(sum));
      b.store(Os, cast<f16>(out));
      b.fence.proxy_async();
      b.sync();
      b.tma.store(Os, O.at(h, m0, 0));
      b.tma.commit_group();
      b.tma.wait_group(0);
    });
    b.sync();
    b.tcgen05.dealloc(scores);
    b.tcgen05.dealloc(product);
  }
};

} // namespace attention

#endif // EXAMPLES_ATTENTION_BLACKWELL_H
