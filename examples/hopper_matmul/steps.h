//===- steps.h - A matmul for Hopper, step by step --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp loads tiles by TMA into a ring; warpgroups multiply them into registers.
// A slot is released when its MMA completes, so with MMAs in flight the release trails
// behind. The result is stored in slabs of columns, so that the ring can take nearly
// all of shared memory.
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
  int in_flight = 0;       ///< MMAs in flight when a slot is released
  bool try_tokens = false; ///< probe the next slot while the MMA runs
  int store_n = 64;        ///< columns of a slab of the result
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
    auto Cs = b.shared<f16>(block_m, store_n);
    auto acc = b.local<f32>(block_m, block_n);
    TmaPipeline pipe(b, stages, As[0].bytes() + Bs[0].bytes(), 128 * consumers);

    b.warp(0, [&] {
      PipelineState state = pipe.producer_state();
      Var<bool> token(b, false); // of the next slot: it is known to be empty
      for (Index k : b.range(tiles)) {
        pipe.producer_acquire(state, Bool(token));
        b.tma.load(A.at(m0, k * block_k), As[state.index], pipe.producer_barrier(state));
        b.tma.load(B.at(n0, k * block_k), Bs[state.index], pipe.producer_barrier(state));
        pipe.producer_commit(state);
        state.advance();
        if (try_tokens)
          token = pipe.producer_try_acquire(state);
      }
    });
    b.warps(4, 4 * consumers, [&] {
      b.fill(acc, 0); // also the result if K is 0
      PipelineState state = pipe.consumer_state(), release = state.clone();
      Var<bool> token(b, false); // of the next slot: it is known to be full
      for (Index k : b.range(tiles)) {
        pipe.consumer_wait(state, Bool(token));
        b.wgmma.fence();
        b.wgmma.mma(As[state.index], transposed(Bs[state.index]), acc);
        b.wgmma.commit_group();
        state.advance();
        if (try_tokens) // the MMA runs while the next slot is probed
          b.when(k + 1 < tiles, [&] { token = pipe.consumer_try_wait(state); });
        b.wgmma.wait_group(in_flight);
        b.when(k >= in_flight, [&] {
          pipe.consumer_release(release);
          release.advance();
        });
      }
      if (in_flight) // the last iteration has not waited for all
        b.wgmma.wait_group(0);
      for (int n = 0; n < block_n; n += store_n) {
        if (n) {
          b.tma.wait_group(0, {.read = true}); // the slab before has been read
          b.sync();
        }
        b.store(Cs, cast<f16>(slice(acc, {0, n}, {block_m, store_n})));
        b.fence.proxy_async();
        b.sync(); // of the consumers
        b.tma.store(Cs, C.at(m0, n0 + n));
        b.tma.commit_group();
      }
      b.tma.wait_group(0);
    });
  }
};

} // namespace hopper

#endif // EXAMPLES_HOPPER_MATMUL_STEPS_H
