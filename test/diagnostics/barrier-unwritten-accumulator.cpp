//===- barrier-unwritten-accumulator.cpp - An MMA loop that may not run ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto K = A.size(1);
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 128), ceil_div(B.size(0), 128));
    b.threads(128);
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64), Cs = b.shared<f16>(128, 16);
    auto acc = b.tcgen05.alloc<f32>(128, 128);
    auto [tma_barrier, mma_barrier] = b.mbarrier.alloc<2>({1, 1});
    Var<unsigned> phase(b, 0);
    b.sync();
    for (Index k : b.range(0, K, 64)) {
      b.warp(0, [&] {
        b.elect_one([&] { b.mbarrier.arrive_expect(tma_barrier, As.bytes() + Bs.bytes()); });
        b.tma.load(A.at(bm * 128, k), As, tma_barrier);
        b.tma.load(B.at(bn * 128, k), Bs, tma_barrier);
        b.mbarrier.wait(tma_barrier, phase);
        b.tcgen05.mma(As, transposed(Bs), acc, {.accumulate = k != 0});
        b.tcgen05.commit(mma_barrier);
        b.mbarrier.wait(mma_barrier, phase);
      });
      b.sync();
      phase ^= 1u;
    }
    for (Index n : b.range(0, 128, 16)) {
      auto slab = b.tcgen05.load(slice(acc, {0, n}, {128, 16}));
      b.tcgen05.wait_load();
      b.store(Cs, cast<f16>(slab));
      b.fence.proxy_async();
      b.sync();
      b.warp(0, [&] {
        b.tma.store(Cs, C.at(bm * 128, bn * 128 + n));
        b.tma.commit_group();
        b.tma.wait_group(0, {.read = true});
      });
      b.sync();
    }
    b.sync();
    b.tcgen05.dealloc(acc);
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::sm_100a()); }

// EXPECT: barrier-unwritten-accumulator.cpp:35: error PS1616: `tcgen05.load` reads `acc`, which nothing has written, with K = 0
// EXPECT:    35 |       auto slab = b.tcgen05.load(slice(acc, {0, n}, {128, 16}));
// EXPECT:       |                   ^ by warp 0
// EXPECT:   help: write it first, or leave out the read where the loop that writes it has no iterations
// EXPECT:   help: if K is never 0, state that: b.require(K > 0, "K is 0")
