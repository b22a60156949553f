//===- v6.h - Two blocks that multiply as one -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pair of blocks computes a tile of twice the height: each loads its rows of A
// and half of the columns of B, and the tensor cores of both read both halves.
// Block 0 of the pair issues the products; the copies of both arrive on its
// barriers, and commits on those of both.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V6_H
#define EXAMPLES_BLACKWELL_MATMUL_V6_H

#include "epilogue.h"
#include <penstock/pipeline.h>

namespace blackwell {

struct MatmulV6 {
  int block_m = 128, block_n = 256, block_k = 64, stages = 3, epilogue_n = 16;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto pairs_m = ceil_div(M, 2 * block_m), tiles_n = ceil_div(N, block_n);
    auto block = b.grid(2 * pairs_m * tiles_n);

    b.threads(128);
    auto rank = b.pair();
    auto tile = block / 2;
    auto m0 = tile % max(pairs_m, 1) * (2 * block_m) + rank * block_m;
    auto n0 = tile / max(pairs_m, 1) * block_n;
    int half = block_n / 2;

    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, half, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto [done] = b.mbarrier.alloc<1>({1});
    Pipeline pipe(b, stages);

    b.warp(0, [&] {
      for (Index k0 : b.range(0, K, block_k)) {
        pipe.producer_acquire();
        // The bytes of both blocks arrive at block 0.
        b.when(rank == 0, [&] {
          b.elect_one([&] {
            b.mbarrier.arrive_expect(pipe.producer_barrier(), 2 * (As[0].bytes() + Bs[0].bytes()));
          });
        });
        b.tma.load(A.at(m0, k0), As[pipe.producer.index], pipe.producer_barrier());
        b.tma.load(B.at(n0 + rank * half, k0), Bs[pipe.producer.index], pipe.producer_barrier());
        pipe.producer_advance();
      }
    });
    b.warp(1, [&] {
      b.when(rank == 0, [&] {
        for (Index k0 : b.range(0, K, block_k)) {
          pipe.consumer_acquire();
          b.tcgen05.mma(As[pipe.consumer.index], transposed(Bs[pipe.consumer.index]), acc,
                        {.accumulate = k0 != 0});
          b.tcgen05.commit(pipe.consumer_barrier());
          pipe.consumer_advance();
        }
        b.tcgen05.commit(done);
      });
      b.mbarrier.wait(done, 0);
    });
    b.sync();
    storeAccumulator(b, acc, Cs, C, m0, n0, K);
    b.cluster_sync(); // neither leaves while the other may read its tiles
    b.tcgen05.dealloc(acc);
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V6_H
