//===- v1.h - Copies by TMA --------------------------------------- -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One instruction copies a tile, in the layout that the tensor core reads, and
// counts its bytes on a barrier. Loading and multiplying still take turns.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V1_H
#define EXAMPLES_BLACKWELL_MATMUL_V1_H

#include "epilogue.h"

namespace blackwell {

struct MatmulV1 {
  int block_m = 128, block_n = 128, block_k = 64, epilogue_n = 16;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;

    b.threads(128);
    auto As = b.shared<f16>(block_m, block_k), Bs = b.shared<f16>(block_n, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto [loaded, multiplied] = b.mbarrier.alloc<2>({1, 1});
    Var<unsigned> phase(b, 0);

    b.warp(0, [&] {
      for (Index k0 : b.range(0, K, block_k)) {
        b.elect_one([&] { b.mbarrier.arrive_expect(loaded, As.bytes() + Bs.bytes()); });
        b.tma.load(A.at(m0, k0), As, loaded);
        b.tma.load(B.at(n0, k0), Bs, loaded);
        b.mbarrier.wait(loaded, phase);
        b.tcgen05.mma(As, transposed(Bs), acc, {.accumulate = k0 != 0});
        b.tcgen05.commit(multiplied);
        b.mbarrier.wait(multiplied, phase);
        phase ^= 1u;
      }
    });
    b.sync();
    storeAccumulator(b, acc, Cs, C, m0, n0, K);
    b.tcgen05.dealloc(acc);
  }

  static auto space() {
    return Space<MatmulV1>()
        .over(&MatmulV1::block_m, &MatmulV1::block_n, &MatmulV1::epilogue_n,
              {{128, 64, 16}, {128, 128, 16}, {128, 256, 32}, {128, 256, 64}})
        .over(&MatmulV1::block_k, {16, 32, 64})
        .classes("M:log2, N, K");
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V1_H
