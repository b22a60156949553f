//===- v6.h - Two blocks that multiply as one -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pair of blocks computes a tile of twice the height: each loads its rows of A
// and half of the columns of B, and the tensor cores of both read both halves.
// Block 0 of the pair issues the MMAs; the copies of both arrive on its
// barriers, and commits on those of both. The pairs are persistent: each
// computes every `pairs`-th tile. There are two accumulators, so that one tile
// is stored while the next is multiplied.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V6_H
#define EXAMPLES_BLACKWELL_MATMUL_V6_H

#include <penstock/pipeline.h>
#include <penstock/tune.h>

namespace blackwell {
using namespace penstock;

struct MatmulV6 {
  int block_m = 128, block_n = 256, block_k = 64, stages = 4, epilogue_n = 32;
  int pairs = 74; // a B200 has 148 multiprocessors
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto tiles_m = ceil_div(M, 2 * block_m), tiles_n = ceil_div(B.size(0), block_n);
    auto tiles = tiles_m * tiles_n;
    auto block = b.grid(2 * min(tiles, pairs));

    b.threads(192);
    auto rank = b.pair();
    int half = block_n / 2;

    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, half, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, 2 * block_n);
    // An accumulator is free when the 128 threads of both blocks have read it.
    Pipeline tma_pipe(b, stages), mma_pipe(b, 2, 1, 2 * 128);
    mma_pipe.scope = Cluster;

    struct Corner {
      Index m0, n0;
    };
    auto corner = [&](const Index &tile) -> Corner {
      auto rows = max(tiles_m, 1);
      return {tile % rows * (2 * block_m) + rank * block_m, tile / rows * block_n};
    };

    b.warp(4, [&] { // loads
      for (Index tile : b.range(block / 2, tiles, pairs)) {
        auto [m0, n0] = corner(tile);
        for (Index k0 : b.range(0, K, block_k)) {
          tma_pipe.producer_acquire();
          // The bytes of both blocks arrive at block 0.
          b.when(rank == 0, [&] {
            b.elect_one([&] {
              b.mbarrier.arrive_expect(tma_pipe.producer_barrier(),
                                       2 * (As[0].bytes() + Bs[0].bytes()));
            });
          });
          b.tma.load(A.at(m0, k0), As[tma_pipe.producer.index], tma_pipe.producer_barrier());
          b.tma.load(B.at(n0 + rank * half, k0), Bs[tma_pipe.producer.index],
                     tma_pipe.producer_barrier());
          tma_pipe.producer_advance();
        }
      }
    });
    b.warp(5, [&] { // multiplies
      b.when(rank == 0, [&] {
        for ([[maybe_unused]] Index tile : b.range(block / 2, tiles, pairs)) {
          mma_pipe.producer_acquire();
          auto target = slice(acc, {0, Index(Scalar<int>(mma_pipe.producer.index)) * block_n},
                              {block_m, block_n});
          for (Index k0 : b.range(0, K, block_k)) {
            tma_pipe.consumer_acquire();
            b.tcgen05.mma(As[tma_pipe.consumer.index], transposed(Bs[tma_pipe.consumer.index]),
                          target, {.accumulate = k0 != 0});
            b.tcgen05.commit(tma_pipe.consumer_barrier());
            tma_pipe.consumer_advance();
          }
          b.tcgen05.commit(mma_pipe.producer_barrier());
          mma_pipe.producer_advance();
        }
      });
    });
    b.warps(0, 4, [&] { // store
      for (Index tile : b.range(block / 2, tiles, pairs)) {
        auto [m0, n0] = corner(tile);
        mma_pipe.consumer_acquire();
        auto from = Index(Scalar<int>(mma_pipe.consumer.index)) * block_n;
        for (int n = 0; n < block_n; n += epilogue_n) {
          b.when(
              K > 0,
              [&] {
                auto slab = b.tcgen05.load(slice(acc, {0, from + n}, {block_m, epilogue_n}));
                b.tcgen05.wait_load();
                b.store(Cs, cast<f16>(slab));
              },
              [&] { b.store(Cs, 0); });
          // The accumulator is free before the last of it has been stored.
          if (n + epilogue_n == block_n)
            b.mbarrier.arrive(mma_pipe.consumer_barrier(), {.cta = 0, .sem = Relaxed});
          b.fence.proxy_async();
          b.sync();
          b.tma.store(Cs, C.at(m0, n0 + n));
          b.tma.commit_group();
          b.tma.wait_group(0, {.read = true});
          b.sync();
        }
        mma_pipe.consumer_advance();
      }
    });
    b.cluster_sync(); // neither leaves while the other may read its tiles
    b.tcgen05.dealloc(acc);
  }

  static auto space() {
    return Space<MatmulV6>()
        .over(&MatmulV6::block_n, {128, 256}) // two accumulators of 256 fill the tensor memory
        .over(&MatmulV6::stages, {2, 3, 4, 5})
        .over(&MatmulV6::epilogue_n, {16, 32})
        .classes("M:log2, N, K");
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V6_H
