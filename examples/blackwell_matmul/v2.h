//===- v2.h - Several tiles under way ----------------------------- -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring of slots: while one tile is multiplied, the next ones are loaded. Loads
// beyond the end of K would still be under way when the kernel ends, so only the
// tiles that exist are loaded, and one thread keeps count of both sides.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V2_H
#define EXAMPLES_BLACKWELL_MATMUL_V2_H

#include "epilogue.h"

namespace blackwell {

struct MatmulV2 {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3, epilogue_n = 16;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;
    auto tiles = ceil_div(K, block_k);

    b.threads(128);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto loaded = b.mbarrier.alloc(stages);
    auto [multiplied] = b.mbarrier.alloc<1>({1});

    auto load = [&](const Index &tile, const Index &slot) {
      b.elect_one([&] { b.mbarrier.arrive_expect(loaded[slot], As[0].bytes() + Bs[0].bytes()); });
      b.tma.load(A.at(m0, tile * block_k), As[slot], loaded[slot]);
      b.tma.load(B.at(n0, tile * block_k), Bs[slot], loaded[slot]);
    };

    b.warp(0, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> load_phase(b, 0), mma_phase(b, 0);
      for (int i = 0; i < stages - 1; ++i)
        b.when(tiles > i, [&] { load(Index(i), Index(i)); });
      for (Index k : b.range(0, tiles, 1, {.unroll = stages})) {
        // Refill the slot of the previous MMA.
        b.when(k + (stages - 1) < tiles,
               [&] { load(k + (stages - 1), (Scalar<int>(slot) + (stages - 1)) % stages); });
        b.mbarrier.wait(loaded[slot], load_phase);
        b.tcgen05.mma(As[slot], transposed(Bs[slot]), acc, {.accumulate = k != 0});
        b.tcgen05.commit(multiplied);
        b.mbarrier.wait(multiplied, mma_phase);
        slot = (slot + 1) % stages;
        load_phase ^= slot == 0;
        mma_phase ^= 1u;
      }
    });
    b.sync();
    storeAccumulator(b, acc, Cs, C, m0, n0, K);
    b.tcgen05.dealloc(acc);
  }

  static auto space() {
    return Space<MatmulV2>()
        .over(&MatmulV2::block_m, &MatmulV2::block_n, &MatmulV2::epilogue_n,
              {{128, 64, 16}, {128, 128, 16}, {128, 256, 16}})
        .over(&MatmulV2::block_k, {16, 32, 64})
        .over(&MatmulV2::stages, {2, 3, 4})
        .classes("M:log2, N, K");
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V2_H
