//===- barrier-relaxed-ring.cpp - A ring whose waits order nothing ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
/// Ring of slots with relaxed waits.
struct Ring {
  Block &b;
  int slots;
  Barriers empty = b.mbarrier.alloc(slots), full = b.mbarrier.alloc(slots);
  Var<int> write = Var<int>(b, 0), read = Var<int>(b, 0);
  Var<unsigned> write_phase = Var<unsigned>(b, mbarrier::producer_phase);
  Var<unsigned> read_phase = Var<unsigned>(b, mbarrier::consumer_phase);

  void producer_acquire() { b.mbarrier.wait(empty[write], write_phase, {.sem = Relaxed}); }
  void producer_advance() {
    write = (write + 1) % slots;
    write_phase ^= write == 0;
  }
  void consumer_acquire() { b.mbarrier.wait(full[read], read_phase, {.sem = Relaxed}); }
  void consumer_advance() {
    read = (read + 1) % slots;
    read_phase ^= read == 0;
  }
};

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
    Ring ring{b, stages};
    auto [done] = b.mbarrier.alloc<1>({1});
    b.warp(0, [&] {
      for (Index k : b.range(0, K, 64, {.unroll = stages})) {
        ring.producer_acquire();
        b.elect_one([&] {
          b.mbarrier.arrive_expect(ring.full[ring.write], As[0].bytes() + Bs[0].bytes());
        });
        b.tma.load(A.at(bm * 128, k), As[ring.write], ring.full[ring.write]);
        b.tma.load(B.at(bn * 128, k), Bs[ring.write], ring.full[ring.write]);
        ring.producer_advance();
      }
    });
    b.warp(1, [&] {
      for (Index k : b.range(0, K, 64, {.unroll = stages})) {
        ring.consumer_acquire();
        b.tcgen05.mma(As[ring.read], transposed(Bs[ring.read]), acc, {.accumulate = k != 0});
        b.tcgen05.commit(ring.empty[ring.read]);
        ring.consumer_advance();
      }
      b.tcgen05.commit(done);
      b.mbarrier.wait(done, 0);
    });
    b.sync();
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

// EXPECT: barrier-relaxed-ring.cpp:58: error PS1612: `tcgen05.mma` may read `As[0]` before an earlier `tma.load` has written it, with K = 1
// EXPECT:    58 |         b.tcgen05.mma(As[ring.read], transposed(Bs[ring.read]), acc, {.accumulate = k != 0});
// EXPECT:       |         ^ by warp 1
// EXPECT: barrier-relaxed-ring.cpp:50: note: written here by `tma.load` of warp 0, asynchronously
// EXPECT:    50 |         b.tma.load(A.at(bm * 128, k), As[ring.write], ring.full[ring.write]);
// EXPECT:       |         ^
// EXPECT: barrier-relaxed-ring.cpp:24: note: this wait comes between them, but is `Relaxed`: it does not order memory
// EXPECT:    24 |   void consumer_acquire() { b.mbarrier.wait(full[read], read_phase, {.sem = Relaxed}); }
// EXPECT:       |                             ^
// EXPECT:   help: wait with `Acquire`, the default, before shared memory is accessed
// EXPECT: barrier-relaxed-ring.cpp:50: error PS1615: `tma.load` may still be under way when the kernel ends, with K = 1
// EXPECT:    50 |         b.tma.load(A.at(bm * 128, k), As[ring.write], ring.full[ring.write]);
// EXPECT:       |         ^ by warp 0
// EXPECT: barrier-relaxed-ring.cpp:24: note: this wait for it is `Relaxed`: it does not order memory
// EXPECT:    24 |   void consumer_acquire() { b.mbarrier.wait(full[read], read_phase, {.sem = Relaxed}); }
// EXPECT:       |                             ^
// EXPECT:   help: wait with `Acquire`, the default
// EXPECT: barrier-relaxed-ring.cpp:51: error PS1615: `tma.load` may still be under way when the kernel ends, with K = 1
// EXPECT:    51 |         b.tma.load(B.at(bn * 128, k), Bs[ring.write], ring.full[ring.write]);
// EXPECT:       |         ^ by warp 0
// EXPECT: barrier-relaxed-ring.cpp:24: note: this wait for it is `Relaxed`: it does not order memory
// EXPECT:    24 |   void consumer_acquire() { b.mbarrier.wait(full[read], read_phase, {.sem = Relaxed}); }
// EXPECT:       |                             ^
// EXPECT:   help: wait with `Acquire`, the default
