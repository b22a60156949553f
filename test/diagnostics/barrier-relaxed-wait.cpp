//===- barrier-relaxed-wait.cpp - A wait that orders nothing ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  static constexpr int stages = 3;
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto K = A.size(1);
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 128), ceil_div(B.size(0), 128));
    b.require(K > 0, "K must not be 0");
    b.threads(128);
    auto As = b.shared<f16>(stages, 128, 64), Bs = b.shared<f16>(stages, 128, 64);
    auto Cs = b.shared<f16>(128, 16);
    auto acc = b.tcgen05.alloc<f32>(128, 128);
    auto loaded = b.mbarrier.alloc(stages);
    auto [multiplied] = b.mbarrier.alloc<1>({1});
    Var<unsigned> load_phase(b, 0), mma_phase(b, 0);
    auto load = [&](const Index &slot, const Index &k) {
      b.elect_one([&] { b.mbarrier.arrive_expect(loaded[slot], As[0].bytes() + Bs[0].bytes()); });
      b.tma.load(A.at(bm * 128, k), As[slot], loaded[slot]);
      b.tma.load(B.at(bn * 128, k), Bs[slot], loaded[slot]);
    };
    for (int i = 0; i < stages - 1; ++i)
      b.warp(0, [&] { load(Index(i), Index(i * 64)); });
    b.sync();
    Var<int> current(b, 0), next(b, stages - 1);
    for (Index k : b.range(0, K, 64, {.unroll = stages})) {
      b.warp(0, [&] {
        load(Index(next), k + (stages - 1) * 64);
        b.mbarrier.wait(loaded[current], load_phase, {.sem = Relaxed});
        b.tcgen05.mma(As[current], transposed(Bs[current]), acc, {.accumulate = k != 0});
        b.tcgen05.commit(multiplied);
        b.mbarrier.wait(multiplied, mma_phase, {.sem = Relaxed});
      });
      next = (next + 1) % stages;
      current = (current + 1) % stages;
      load_phase ^= current == 0;
      mma_phase ^= 1u;
      b.sync();
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

// EXPECT: barrier-relaxed-wait.cpp:37: error PS1612: `tcgen05.mma` may read `As[0]` before an earlier `tma.load` has written it, with K = 1
// EXPECT:    37 |         b.tcgen05.mma(As[current], transposed(Bs[current]), acc, {.accumulate = k != 0});
// EXPECT:       |         ^ by warp 0
// EXPECT: barrier-relaxed-wait.cpp:26: note: written here by `tma.load` of warp 0, asynchronously
// EXPECT:    26 |       b.tma.load(A.at(bm * 128, k), As[slot], loaded[slot]);
// EXPECT:       |       ^
// EXPECT: barrier-relaxed-wait.cpp:36: note: this wait comes between them, but is `Relaxed`: it does not order memory
// EXPECT:    36 |         b.mbarrier.wait(loaded[current], load_phase, {.sem = Relaxed});
// EXPECT:       |         ^
// EXPECT:   help: wait with `Acquire`, the default, before shared memory is accessed
// EXPECT: barrier-relaxed-wait.cpp:26: error PS1615: `tma.load` may still be under way when the kernel ends, with K = 1
// EXPECT:    26 |       b.tma.load(A.at(bm * 128, k), As[slot], loaded[slot]);
// EXPECT:       |       ^ by warp 0
// EXPECT: barrier-relaxed-wait.cpp:36: note: this wait for it is `Relaxed`: it does not order memory
// EXPECT:    36 |         b.mbarrier.wait(loaded[current], load_phase, {.sem = Relaxed});
// EXPECT:       |         ^
// EXPECT:   help: wait with `Acquire`, the default
// EXPECT: barrier-relaxed-wait.cpp:27: error PS1615: `tma.load` may still be under way when the kernel ends, with K = 1
// EXPECT:    27 |       b.tma.load(B.at(bn * 128, k), Bs[slot], loaded[slot]);
// EXPECT:       |       ^ by warp 0
// EXPECT: barrier-relaxed-wait.cpp:36: note: this wait for it is `Relaxed`: it does not order memory
// EXPECT:    36 |         b.mbarrier.wait(loaded[current], load_phase, {.sem = Relaxed});
// EXPECT:       |         ^
// EXPECT:   help: wait with `Acquire`, the default
