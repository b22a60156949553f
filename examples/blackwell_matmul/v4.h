//===- v4.h - A ring of its own class, and blocks that share columns -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp loads, one multiplies; a ring of slots lies between them. Consecutive
// blocks share columns of B, so that the cache holds what they need.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V4_H
#define EXAMPLES_BLACKWELL_MATMUL_V4_H

#include "epilogue.h"
#include <penstock/pipeline.h>

namespace blackwell {

struct MatmulV4 {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3, epilogue_n = 16, group = 4;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(group));
    auto m0 = bm * block_m, n0 = bn * block_n;

    b.threads(128);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto [done] = b.mbarrier.alloc<1>({1});
    Pipeline pipe(b, stages);

    b.warp(0, [&] {
      for (Index k0 : b.range(0, K, block_k, {.unroll = stages})) {
        pipe.producer_acquire();
        b.elect_one([&] {
          b.mbarrier.arrive_expect(pipe.producer_barrier(), As[0].bytes() + Bs[0].bytes());
        });
        b.tma.load(A.at(m0, k0), As[pipe.producer.index], pipe.producer_barrier());
        b.tma.load(B.at(n0, k0), Bs[pipe.producer.index], pipe.producer_barrier());
        pipe.producer_advance();
      }
    });
    b.warp(1, [&] {
      for (Index k0 : b.range(0, K, block_k, {.unroll = stages})) {
        pipe.consumer_acquire();
        b.tcgen05.mma(As[pipe.consumer.index], transposed(Bs[pipe.consumer.index]), acc,
                      {.accumulate = k0 != 0});
        b.tcgen05.commit(pipe.consumer_barrier());
        pipe.consumer_advance();
      }
      b.tcgen05.commit(done);
      b.mbarrier.wait(done, 0);
    });
    b.sync();
    storeAccumulator(b, acc, Cs, C, m0, n0, K);
    b.tcgen05.dealloc(acc);
  }

  static auto space() {
    return Space<MatmulV4>()
        .over(&MatmulV4::block_m, &MatmulV4::block_n, &MatmulV4::epilogue_n,
              {{128, 64, 16}, {128, 128, 16}, {128, 256, 16}})
        .over(&MatmulV4::block_k, {16, 32, 64})
        .over(&MatmulV4::stages, {2, 3, 4})
        .over(&MatmulV4::group, {1, 4, 8})
        .classes("M:log2, N, K");
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V4_H
