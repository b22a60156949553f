//===- v5.h - Blocks that take over work, and an epilogue under way -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block that has finished its tile asks the hardware for the work of one that
// has not started. Four roles: a warp that loads, one that multiplies, one that
// asks, and four that store the result. There are two accumulators, so that one
// tile is stored while the next is multiplied.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_V5_H
#define EXAMPLES_BLACKWELL_MATMUL_V5_H

#include <penstock/pipeline.h>
#include <penstock/tune.h>

namespace blackwell {
using namespace penstock;

struct MatmulV5 {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3, epilogue_n = 32, group = 4;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto tiles_m = ceil_div(M, block_m), tiles_n = ceil_div(N, block_n);
    auto block = b.grid(tiles_m * tiles_n);

    b.threads(224);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto Cs = b.shared<f16>(block_m, epilogue_n);
    auto answer = b.shared<i32>(4);
    auto acc = b.tcgen05.alloc<f32>(block_m, 2 * block_n);
    Pipeline tma_pipe(b, stages), mma_pipe(b, 2, 1, 128);
    // Every thread reads the answer, and says so before the next one is asked for.
    auto [answered, read] = b.mbarrier.alloc<2>({1, 224});

    // Where a tile lies: groups of tiles that share columns of B.
    struct Corner {
      Index m0, n0;
    };
    auto corner = [&](const Index &tile) -> Corner {
      auto [number, inside] = fast_divmod(tile, max(tiles_m * group, 1));
      auto first = number * group;
      auto width = min(tiles_n - first, group);
      return {inside / width * block_m, (first + inside % width) * block_n};
    };
    // One round of a role for each tile, until there is no more work.
    auto for_each_tile = [&](auto work) {
      Var<int> tile(b, cast<int>(block));
      Var<bool> busy(b, true);
      Var<unsigned> phase(b, 0);
      b.loop_while([&] { return Bool(busy); },
                   [&] {
                     work(Index(Scalar<int>(tile)));
                     b.mbarrier.wait(answered, phase);
                     auto [granted, next] = b.clc.answer(answer);
                     tile = cast<int>(next);
                     busy = granted;
                     phase ^= 1u;
                     b.fence.proxy_async(); // the next answer is written by another proxy
                     b.mbarrier.arrive(read);
                   });
    };

    b.warp(4, [&] { // loads
      for_each_tile([&](const Index &tile) {
        auto [m0, n0] = corner(tile);
        for (Index k0 : b.range(0, K, block_k)) {
          tma_pipe.producer_acquire();
          b.elect_one([&] {
            b.mbarrier.arrive_expect(tma_pipe.producer_barrier(), As[0].bytes() + Bs[0].bytes());
          });
          b.tma.load(A.at(m0, k0), As[tma_pipe.producer.index], tma_pipe.producer_barrier());
          b.tma.load(B.at(n0, k0), Bs[tma_pipe.producer.index], tma_pipe.producer_barrier());
          tma_pipe.producer_advance();
        }
      });
    });
    b.warp(5, [&] { // multiplies
      for_each_tile([&](const Index &) {
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
      });
    });
    b.warp(6, [&] { // requests work
      Var<unsigned> free_phase(b, mbarrier::producer_phase), phase(b, 0);
      Var<bool> busy(b, true);
      b.loop_while([&] { return Bool(busy); },
                   [&] {
                     b.mbarrier.wait(read, free_phase);
                     b.elect_one([&] { b.mbarrier.arrive_expect(answered, 16); });
                     b.clc.request(answer, answered);
                     b.mbarrier.wait(answered, phase);
                     busy = b.clc.answer(answer).granted;
                     free_phase ^= 1u;
                     phase ^= 1u;
                     b.fence.proxy_async();
                     b.mbarrier.arrive(read);
                   });
    });
    b.warps(0, 4, [&] { // store
      for_each_tile([&](const Index &tile) {
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
            b.mbarrier.arrive(mma_pipe.consumer_barrier());
          b.fence.proxy_async();
          b.sync();
          b.tma.store(Cs, C.at(m0, n0 + n));
          b.tma.commit_group();
          b.tma.wait_group(0, {.read = true});
          b.sync();
        }
        mma_pipe.consumer_advance();
      });
    });
    b.sync();
    b.tcgen05.dealloc(acc);
  }

  static auto space() {
    return Space<MatmulV5>()
        .over(&MatmulV5::block_n, {64, 128, 256}) // two accumulators of 256 fill the tensor memory
        .over(&MatmulV5::block_k, {32, 64})
        .over(&MatmulV5::stages, {2, 3, 4})
        .over(&MatmulV5::group, {1, 4, 8})
        .classes("M:log2, N, K");
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_V5_H
