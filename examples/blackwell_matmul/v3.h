//===- v3.h - A warp that loads and a warp that multiplies -------- -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two roles with barriers in both directions: a slot is loaded when it is empty
// and multiplied when it is full. Slots and phases are kept by hand.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V3_H
#define EXAMPLES_BLACKWELL_MATMUL_V3_H

#include "epilogue.h"

namespace blackwell {

struct MatmulV3 {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3, epilogue_n = 16;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;

    b.threads(128);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto full = b.mbarrier.alloc(stages), empty = b.mbarrier.alloc(stages);
    auto [done] = b.mbarrier.alloc<1>({1});

    b.warp(0, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::producer_phase);
      for (Index k0 : b.range(0, K, block_k, {.unroll = stages})) {
        b.mbarrier.wait(empty[slot], phase);
        b.elect_one([&] { b.mbarrier.arrive_expect(full[slot], As[0].bytes() + Bs[0].bytes()); });
        b.tma.load(A.at(m0, k0), As[slot], full[slot]);
        b.tma.load(B.at(n0, k0), Bs[slot], full[slot]);
        slot = (slot + 1) % stages;
        phase ^= slot == 0;
      }
    });
    b.warp(1, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::consumer_phase);
      for (Index k0 : b.range(0, K, block_k, {.unroll = stages})) {
        b.mbarrier.wait(full[slot], phase);
        b.tcgen05.mma(As[slot], transposed(Bs[slot]), acc, {.accumulate = k0 != 0});
        b.tcgen05.commit(empty[slot]);
        slot = (slot + 1) % stages;
        phase ^= slot == 0;
      }
      b.tcgen05.commit(done);
      b.mbarrier.wait(done, 0);
    });
    b.sync();
    storeAccumulator(b, acc, Cs, C, m0, n0, K);
    b.tcgen05.dealloc(acc);
  }

  static auto space() {
    return Space<MatmulV3>()
        .over(&MatmulV3::block_m, &MatmulV3::block_n, &MatmulV3::epilogue_n,
              {{128, 64, 16}, {128, 128, 16}, {128, 256, 16}})
        .over(&MatmulV3::block_k, {32, 64})
        .over(&MatmulV3::stages, {2, 3, 4})
        .classes("M:log2, N, K");
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V3_H
