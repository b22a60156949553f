//===- steps.h - A matmul for Hopper, step by step --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp loads tiles by TMA into a ring; warpgroups multiply them into
// registers. The steps differ in how many warpgroups share a tile and in how
// many products are under way: a slot is given back when the product that reads
// it is over, so with products under way the release trails behind.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_HOPPER_MATMUL_STEPS_H
#define EXAMPLES_HOPPER_MATMUL_STEPS_H

#include <penstock/penstock.h>
#include <penstock/pipeline.h>

namespace hopper {
using namespace penstock;

struct Matmul {
  int block_m = 128, block_n = 128, block_k = 64, stages = 4;
  int consumers = 2;       ///< warpgroups that multiply
  int in_flight = 0;       ///< products that may be under way when a slot is given back
  bool try_tokens = false; ///< ask for the next slot before it is needed
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(8));
    auto m0 = bm * block_m, n0 = bn * block_n;
    auto tiles = ceil_div(K, block_k);

    b.threads(128 + 128 * consumers);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto Cs = b.shared<f16>(block_m, block_n);
    auto acc = b.local<f32>(block_m, block_n);
    TmaPipeline pipe(b, stages, As[0].bytes() + Bs[0].bytes(), 128 * consumers);

    b.warp(0, [&] {
      PipelineState state = pipe.producer_state();
      for (Index k : b.range(tiles)) {
        if (try_tokens)
          pipe.producer_acquire(state, pipe.producer_try_acquire(state));
        else
          pipe.producer_acquire(state);
        b.tma.load(A.at(m0, k * block_k), As[state.index], pipe.producer_barrier(state));
        b.tma.load(B.at(n0, k * block_k), Bs[state.index], pipe.producer_barrier(state));
        pipe.producer_commit(state);
        state.advance();
      }
    });
    b.warps(4, 4 * consumers, [&] {
      b.fill(acc, 0); // and so an empty product is zero
      PipelineState state = pipe.consumer_state(), release = state.clone();
      for (Index k : b.range(tiles)) {
        if (try_tokens)
          pipe.consumer_wait(state, pipe.consumer_try_wait(state));
        else
          pipe.consumer_wait(state);
        b.wgmma.fence();
        b.wgmma.mma(As[state.index], transposed(Bs[state.index]), acc);
        b.wgmma.commit_group();
        b.wgmma.wait_group(in_flight);
        b.when(k >= in_flight, [&] {
          pipe.consumer_release(release);
          release.advance();
        });
        state.advance();
      }
      if (in_flight) // the last iteration has not waited for all
        b.wgmma.wait_group(0);
      b.store(Cs, cast<f16>(acc));
      b.fence.proxy_async();
      b.sync(); // of the consumers
      b.tma.store(Cs, C.at(m0, n0));
      b.tma.commit_group();
      b.tma.wait_group(0);
    });
  }
};

} // namespace hopper

#endif // EXAMPLES_HOPPER_MATMUL_STEPS_H
