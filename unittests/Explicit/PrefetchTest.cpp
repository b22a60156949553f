//===- PrefetchTest.cpp - Bugs of one warp that loads ahead -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is V2 of examples/blackwell_matmul with small tiles. Published
// kernels of this form load the tiles in front of the loop and those ahead of it
// without asking whether they exist, and wait relaxedly.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Prefetch { None, BeyondTheEnd, UnusedPrologue, IntoTheSlotInUse, RelaxedWait };

struct PrefetchingMatmul {
  Prefetch bug = Prefetch::None;
  int block_m = 128, block_n = 32, block_k = 32, stages = 3;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Prefetch one) const { return bug == one; }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto m0 = bm * block_m, n0 = bn * block_n;
    auto tiles = ceil_div(K, block_k);

    b.threads(128);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto loaded = b.mbarrier.alloc(stages);
    auto [multiplied] = b.mbarrier.alloc<1>({1});

    auto load = [&](const Index &tile, const Index &slot) {
      b.elect_one([&] { b.mbarrier.arrive_expect(loaded[slot], As[0].bytes() + Bs[0].bytes()); });
      b.tma.load(A.at(m0, tile * block_k), As[slot], loaded[slot]); // [load A]
      b.tma.load(B.at(n0, tile * block_k), Bs[slot], loaded[slot]);
    };
    b.warp(0, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> load_phase(b, 0), mma_phase(b, 0);
      for (int i = 0; i < stages - 1; ++i)
        if (is(Prefetch::UnusedPrologue))
          load(Index(i), Index(i));
        else
          b.when(tiles > i, [&] { load(Index(i), Index(i)); });
      for (Index k : b.range(tiles)) {
        int ahead = is(Prefetch::IntoTheSlotInUse) ? stages : stages - 1;
        auto next = [&] { load(k + ahead, (Scalar<int>(slot) + ahead) % stages); };
        if (is(Prefetch::BeyondTheEnd))
          next();
        else
          b.when(k + ahead < tiles, next);
        if (is(Prefetch::RelaxedWait))
          b.mbarrier.wait(loaded[slot], load_phase, {.sem = Relaxed});
        else
          b.mbarrier.wait(loaded[slot], load_phase); // [wait for tiles]
        b.tcgen05.mma(As[slot], transposed(Bs[slot]), acc, {.accumulate = k != 0}); // [multiply]
        b.tcgen05.commit(multiplied);
        b.mbarrier.wait(multiplied, mma_phase);
        slot = (slot + 1) % stages;
        load_phase ^= slot == 0;
        mma_phase ^= 1u;
      }
    });
    b.sync();
    b.when(tiles > 0, [&] {
      auto result = b.tcgen05.load(acc);
      b.tcgen05.wait_load();
      b.copy(result, C.at(m0, n0));
    });
    b.sync();
    b.tcgen05.dealloc(acc);
  }
};

class PrefetchBugs : public ::testing::TestWithParam<Case<Prefetch>> {};

TEST_P(PrefetchBugs, AreCaught) {
  expectCaught(PrefetchingMatmul{.bug = GetParam().bug}, Target::sm_100a().emulated(), GetParam(),
               __FILE__);
}

constexpr Case<Prefetch> cases[] = {
    {Prefetch::BeyondTheEnd, "BeyondTheEnd", {2111, "load A"}, {1615, "load A"}},
    {Prefetch::UnusedPrologue, "UnusedPrologueOfOneTile", {2111, "load A"}, {1615, "load A"}, 1},
    {Prefetch::UnusedPrologue, "UnusedPrologueOfNoTile", {2111, "load A"}, {1615, "load A"}, 0},
    {Prefetch::IntoTheSlotInUse,
     "IntoTheSlotInUse",
     {2101, "load A", "load A"},
     {1611, "wait for tiles"}},
    {Prefetch::RelaxedWait,
     "RelaxedWait",
     {2101, "load A", "multiply"},
     {1612, "multiply", "load A"}},
};
INSTANTIATE_TEST_SUITE_P(All, PrefetchBugs, ::testing::ValuesIn(cases), nameOf<Prefetch>);

TEST(Prefetch, IsRightWithoutBug) {
  for (int64_t tiles : {1, 2, 7})
    expectRight(PrefetchingMatmul{}, Target::sm_100a().emulated(), tiles);
}

} // namespace
