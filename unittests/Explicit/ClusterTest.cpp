//===- ClusterTest.cpp - Blocks that load for each other ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two blocks multiply different rows of A with the same columns of B: each loads
// half of B's tile and multicasts it, so a slot is free when the consumers of both
// blocks have read it. Once with Hopper's tensor core, whose threads arrive on the
// barriers of both blocks, and once with Blackwell's, whose commits do.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Shared {
  None,
  ReleasesOwnBlock,
  CountsOwnConsumers,
  AnnouncesOwnHalf,
  NoMulticast,
  LoadsOtherHalf,
  ReadByThreads, ///< right
  RelaxedRelease,
  NarrowWait,
  EnginesAreOver, ///< right: only wgmma reads slots
  LeavesEarly,
};

/// `block_m` rows of both blocks.
struct SharedMatmul {
  Shared bug = Shared::None;
  bool hopper = true;
  int block_m = 128, block_n = 32, block_k = 32, stages = 3;
  bool oneLoads = false; ///< the first block loads B for both
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Shared one) const { return bug == one; }
  bool readByThreads() const {
    return is(Shared::ReadByThreads) || is(Shared::RelaxedRelease) || is(Shared::NarrowWait);
  }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto tiles_m = ceil_div(M, block_m), tiles_n = ceil_div(N, block_n);
    auto block = b.grid(2 * tiles_m * tiles_n);
    b.threads(256);
    auto rank = b.cluster(2);
    int rows = block_m / 2, half = block_n / 2;
    auto m0 = block / 2 % max(tiles_m, 1) * block_m + rank * rows;
    auto n0 = block / 2 / max(tiles_m, 1) * block_n;
    auto tiles = ceil_div(K, block_k);

    auto As = b.shared<f16>(stages, rows, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    int consumers = hopper ? 128 : 1;
    auto full = b.mbarrier.alloc(stages);
    auto empty =
        b.mbarrier.alloc(stages, is(Shared::CountsOwnConsumers) ? consumers : 2 * consumers);
    int64_t bytes = As[0].bytes() + Bs[0].bytes() / (is(Shared::AnnouncesOwnHalf) ? 2 : 1);

    b.warp(0, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::producer_phase);
      for (Index k : b.range(tiles)) {
        ThreadScope scope = is(Shared::NarrowWait) || is(Shared::EnginesAreOver) ? Cta : Cluster;
        b.mbarrier.wait(empty[slot], phase, {.scope = scope}); // [wait for empty]
        b.elect_one([&] {
          b.mbarrier.arrive_expect(full[slot], bytes); // [announce]
        });
        b.tma.load(A.at(m0, k * block_k), As[slot], full[slot]); // [load A]
        auto first = (is(Shared::LoadsOtherHalf) ? 1 - rank : rank) * half;
        auto part = slice(Bs[slot], {rank * half, 0}, {half, block_k});
        if (oneLoads)
          b.when(rank == 0, [&] {
            b.tma.load(B.at(n0, k * block_k), Bs[slot], full[slot], {.multicast = 3});
          });
        else if (is(Shared::NoMulticast))
          b.tma.load(B.at(n0 + first, k * block_k), part, full[slot]); // [load own B]
        else
          b.tma.load(B.at(n0 + first, k * block_k), part, full[slot], // [load B]
                     {.multicast = 3});
        slot = (slot + 1) % stages;
        phase ^= slot == 0;
      }
    });
    if (hopper)
      multiplyOnHopper(b, As, Bs, full, empty, tiles, C, m0, n0);
    else
      multiplyOnBlackwell(b, As, Bs, full, empty, tiles, C, m0, n0);
    if (!is(Shared::LeavesEarly))
      b.cluster_sync(); // neither leaves while the other may write its tiles or arrive
  }

  void multiplyOnHopper(Block &b, Tile<f16, 3> As, Tile<f16, 3> Bs, Barriers full, Barriers empty,
                        Index tiles, Out<f16, 2> C, Index m0, Index n0) const {
    auto acc = b.local<f32>(block_m / 2, block_n);
    b.warps(4, 4, [&] {
      b.fill(acc, 0);
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::consumer_phase);
      for ([[maybe_unused]] Index k : b.range(tiles)) {
        b.mbarrier.wait(full[slot], phase); // [wait for full]
        b.wgmma.fence();
        b.wgmma.mma(As[slot], transposed(Bs[slot]), acc); // [multiply]
        b.wgmma.commit_group();
        b.wgmma.wait_group(0);
        if (readByThreads())              // overwritten in the end
          b.copy(Bs[slot], C.at(m0, n0)); // [read]
        Semantics sem =
            is(Shared::RelaxedRelease) || is(Shared::EnginesAreOver) ? Relaxed : Release;
        if (is(Shared::ReleasesOwnBlock))
          b.mbarrier.arrive(empty[slot]);
        else
          for (int block = 0; block < 2; ++block)
            b.mbarrier.arrive(empty[slot], {.cta = block, .sem = sem}); // [release]
        slot = (slot + 1) % stages;
        phase ^= slot == 0;
      }
      if (readByThreads())
        b.sync();
      b.copy(acc, C.at(m0, n0));
    });
  }

  void multiplyOnBlackwell(Block &b, Tile<f16, 3> As, Tile<f16, 3> Bs, Barriers full,
                           Barriers empty, Index tiles, Out<f16, 2> C, Index m0, Index n0) const {
    auto acc = b.tcgen05.alloc<f32>(block_m / 2, block_n);
    auto [done] = b.mbarrier.alloc<1>({1});
    b.warp(1, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, mbarrier::consumer_phase);
      for (Index k : b.range(tiles)) {
        b.mbarrier.wait(full[slot], phase); // [wait for full]
        b.tcgen05.mma(As[slot], transposed(Bs[slot]), acc, {.accumulate = k != 0}); // [multiply]
        if (is(Shared::ReleasesOwnBlock))
          b.tcgen05.commit(empty[slot]);
        else
          b.tcgen05.commit(empty[slot], {.multicast = 3}); // [release]
        slot = (slot + 1) % stages;
        phase ^= slot == 0;
      }
      b.tcgen05.commit(done);
      b.mbarrier.wait(done, 0);
    });
    b.sync();
    b.warps(4, 4, [&] {
      b.when(tiles > 0, [&] {
        auto result = b.tcgen05.load(acc);
        b.tcgen05.wait_load();
        b.copy(result, C.at(m0, n0));
      });
    });
    b.sync();
    b.tcgen05.dealloc(acc);
  }
};

SharedMatmul onHopper(Shared bug = Shared::None) { return {.bug = bug}; }
SharedMatmul onBlackwell(Shared bug = Shared::None) {
  return {.bug = bug, .hopper = false, .block_m = 256};
}
Target hopper() { return Target::sm_90a().emulated(); }
Target blackwell() { return Target::sm_100a().emulated(); }

TEST(SharedByBlocks, IsRightOnHopper) { expectRight(onHopper(), hopper(), 7); }
TEST(SharedByBlocks, IsRightOnBlackwell) { expectRight(onBlackwell(), blackwell(), 7); }

TEST(SharedByBlocks, IsRightIfThreadsReadSlots) {
  expectRight(onHopper(Shared::ReadByThreads), hopper(), 7);
}

// Neither a release nor an acquire of the cluster is needed to overwrite what wgmma has read.
TEST(SharedByBlocks, IsRightIfArrivalsOnlySayThatEnginesAreDone) {
  expectRight(onHopper(Shared::EnginesAreOver), hopper(), 7);
}

// The first block may go ahead as soon as the second has released its slots there, and
// release once more before the second has released its own: phases then count other
// arrivals, which does no harm.
TEST(SharedByBlocks, IsRightIfOneBlockLoads) {
  auto kernel = onHopper();
  kernel.oneLoads = true;
  kernel.stages = 2;
  expectRight(kernel, hopper(), 7);
}

TEST(SharedByBlocks, HalvesAreDifferent) {
  auto compiled = compile(onHopper(Shared::LoadsOtherHalf), hopper());
  Product product(128, 32, 64);
  EXPECT_TRUE(product.launch(compiled, timings[0]).empty());
  EXPECT_GT(product.wrong(), 0);
}

// Whether a block is gone when the other still arrives there depends on the timing.
TEST(SharedByBlocks, BlockThatLeavesEarlyIsCaught) {
  auto compiled = compile(onHopper(Shared::LeavesEarly), hopper());
  std::vector<Diagnostic> found;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Product product(128, 32, 7 * 32);
    auto some = product.launch(compiled, {"random", Completion::Random, seed});
    found.insert(found.end(), some.begin(), some.end());
  }
  expectFinding(found, {2104, "release"}, __FILE__);
}

TEST(SharedByBlocks, IsAssembled) {
  expectAssembled(onHopper(), Target::sm_90a());
  expectAssembled(onBlackwell(), Target::sm_100a());
}

class HopperBugs : public ::testing::TestWithParam<Case<Shared>> {};
TEST_P(HopperBugs, AreCaught) {
  expectCaught(onHopper(GetParam().bug), hopper(), GetParam(), __FILE__);
}
constexpr Case<Shared> cases[] = {
    {Shared::ReleasesOwnBlock,
     "ReleasesOwnBlock",
     {2110, "wait for empty"},
     {1611, "wait for empty"}},
    {Shared::CountsOwnConsumers,
     "CountsOwnConsumers",
     {2101, "load B", "multiply"},
     {1612, "load B"},
     7,
     Seen::InSomeTiming},
    {Shared::AnnouncesOwnHalf,
     "AnnouncesOwnHalf",
     {2101, "load B", "multiply"},
     {1613, "announce", "load B"}},
    {Shared::NoMulticast, "NoMulticast", {2110, "wait for full"}, {1613, "announce"}},
    {Shared::RelaxedRelease, "RelaxedRelease", {2101, "load B", "read"}, {1612, "load B", "read"}},
    {Shared::NarrowWait, "NarrowWait", {2101, "load B", "read"}, {1612, "load B", "read"}},
};
INSTANTIATE_TEST_SUITE_P(All, HopperBugs, ::testing::ValuesIn(cases), nameOf<Shared>);

class BlackwellBugs : public ::testing::TestWithParam<Case<Shared>> {};
TEST_P(BlackwellBugs, AreCaught) {
  expectCaught(onBlackwell(GetParam().bug), blackwell(), GetParam(), __FILE__);
}
// Its commits have no semantics to choose, and are no arrivals of threads.
INSTANTIATE_TEST_SUITE_P(All, BlackwellBugs,
                         ::testing::ValuesIn(std::begin(cases), std::end(cases) - 2),
                         nameOf<Shared>);

} // namespace
