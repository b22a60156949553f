//===- RingTest.cpp - Bugs between a role that loads and one that multiplies -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is V3 of examples/blackwell_matmul with small tiles.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Ring {
  None,
  NoRelease,
  NoWaitForEmpty,
  NoWaitForFull,
  NoAnnouncement,
  TooFewBytes,
  TooManyBytes,
  TwoArrivalsCounted,
  EveryThreadArrives,
  ProducerStartsInPhase0,
  ConsumerStartsInPhase1,
  ProducerPhaseNotFlipped,
  ConsumerPhaseNotFlipped,
  ConsumerAdvancesTwice,
  ProducerAdvancesTwice,
  ReleasedByArrival,
  RelaxedWait,
  OtherWarpMultiplies,
  LoadArrivesOnOtherSlot,
  LoadIntoOneSlot,
  FirstProductAccumulates,
  NoFinalCommit,
  NoFinalWait,
  NoSyncBeforeEpilogue,
  CommitBeforeProduct,
  OneTileTooMany,
  OneTileTooFew,
  TailWaitsForEverySlot,
};

struct RingMatmul {
  Ring bug = Ring::None;
  int block_m = 128, block_n = 32, block_k = 32, stages = 3;
  Semantics final_wait = Acquire;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Ring one) const { return bug == one; }

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
    auto full = b.mbarrier.alloc(stages, is(Ring::TwoArrivalsCounted) ? 2 : 1);
    auto empty = b.mbarrier.alloc(stages);
    auto [done] = b.mbarrier.alloc<1>({1});
    int64_t bytes = As[0].bytes() + Bs[0].bytes();
    if (is(Ring::TooFewBytes))
      bytes = As[0].bytes();
    if (is(Ring::TooManyBytes))
      bytes += 16;

    b.warp(0, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, is(Ring::ProducerStartsInPhase0) ? mbarrier::consumer_phase
                                                              : mbarrier::producer_phase);
      auto end = is(Ring::OneTileTooMany) ? tiles + 1 : is(Ring::OneTileTooFew) ? tiles - 1 : tiles;
      for (Index k : b.range(end)) {
        if (!is(Ring::NoWaitForEmpty))
          b.mbarrier.wait(empty[slot], phase); // [wait for empty]
        if (is(Ring::EveryThreadArrives))
          b.mbarrier.arrive_expect(full[slot], bytes); // [announce by all]
        else if (!is(Ring::NoAnnouncement))
          b.elect_one([&] {
            b.mbarrier.arrive_expect(full[slot], bytes); // [announce]
          });
        Index target = is(Ring::LoadIntoOneSlot) ? Index(0) : Index(Scalar<int>(slot));
        Index arrival = is(Ring::LoadArrivesOnOtherSlot) ? Index((Scalar<int>(slot) + 1) % stages)
                                                         : Index(Scalar<int>(slot));
        b.tma.load(A.at(m0, k * block_k), As[slot], full[slot]);      // [load A]
        b.tma.load(B.at(n0, k * block_k), Bs[target], full[arrival]); // [load B]
        for (int i = 0; i < (is(Ring::ProducerAdvancesTwice) ? 2 : 1); ++i) {
          slot = (slot + 1) % stages;
          if (!is(Ring::ProducerPhaseNotFlipped))
            phase ^= slot == 0;
        }
      }
      if (is(Ring::TailWaitsForEverySlot))
        for (int i = 0; i < stages; ++i)
          b.mbarrier.wait(empty[i], 0); // [tail]
    });
    auto multiply = [&](const Index &k, const Var<int> &slot) {
      b.tcgen05.mma(As[slot], transposed(Bs[slot]), acc, // [multiply]
                    {.accumulate = is(Ring::FirstProductAccumulates) ? k >= 0 : k != 0});
    };
    if (is(Ring::OtherWarpMultiplies))
      b.warp(2, [&] {
        Var<int> slot(b, 0);
        for (Index k : b.range(tiles)) {
          multiply(k, slot);
          b.tcgen05.commit(empty[slot]);
          slot = (slot + 1) % stages;
        }
        b.tcgen05.commit(done);
      });
    b.warp(1, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, is(Ring::ConsumerStartsInPhase1) ? mbarrier::producer_phase
                                                              : mbarrier::consumer_phase);
      for (Index k : b.range(tiles)) {
        if (is(Ring::RelaxedWait))
          b.mbarrier.wait(full[slot], phase, {.sem = Relaxed});
        else if (!is(Ring::NoWaitForFull))
          b.mbarrier.wait(full[slot], phase); // [wait for full]
        if (is(Ring::CommitBeforeProduct))
          b.tcgen05.commit(empty[slot]);
        if (!is(Ring::OtherWarpMultiplies))
          multiply(k, slot);
        if (is(Ring::ReleasedByArrival))
          b.elect_one([&] { b.mbarrier.arrive(empty[slot]); });
        else if (!is(Ring::NoRelease) && !is(Ring::OtherWarpMultiplies) &&
                 !is(Ring::CommitBeforeProduct))
          b.tcgen05.commit(empty[slot]); // [release]
        for (int i = 0; i < (is(Ring::ConsumerAdvancesTwice) ? 2 : 1); ++i) {
          slot = (slot + 1) % stages;
          if (!is(Ring::ConsumerPhaseNotFlipped))
            phase ^= slot == 0;
        }
      }
      if (!is(Ring::NoFinalCommit) && !is(Ring::OtherWarpMultiplies))
        b.tcgen05.commit(done);
      if (!is(Ring::NoFinalWait))
        b.mbarrier.wait(done, 0, {.sem = final_wait}); // [wait for products]
    });
    if (!is(Ring::NoSyncBeforeEpilogue))
      b.sync();
    b.when(tiles > 0, [&] {
      auto result = b.tcgen05.load(acc); // [read accumulator]
      b.tcgen05.wait_load();
      b.copy(result, C.at(m0, n0));
    });
    b.sync();
    b.tcgen05.dealloc(acc);
  }
};

class RingBugs : public ::testing::TestWithParam<Case<Ring>> {};

TEST_P(RingBugs, AreCaught) {
  expectCaught(RingMatmul{.bug = GetParam().bug}, Target::sm_100a().emulated(), GetParam(),
               __FILE__);
}

constexpr Case<Ring> cases[] = {
    {Ring::NoRelease,
     "NoRelease",
     {2110, "wait for empty"},
     {1611, "wait for empty", "wait for full"}},
    {Ring::NoWaitForEmpty,
     "NoWaitForEmpty",
     {2101, "load A", "multiply"},
     {1612, "load A"},
     7,
     Seen::InSomeTiming},
    {Ring::NoWaitForFull,
     "NoWaitForFull",
     {2101, "multiply", "load A"},
     {1612, "multiply", "load A"}},
    {Ring::NoAnnouncement, "NoAnnouncement", {2110, "wait for full"}, {1613, "load B"}},
    // If the copy that was not announced ends first, the sum of bytes passes zero: a deadlock.
    {Ring::TooFewBytes,
     "TooFewBytes",
     {2101, "load B", "multiply"},
     {1613, "announce", "load B"},
     7,
     Seen::InEveryTiming,
     {2110, "wait for full"}},
    {Ring::TooManyBytes, "TooManyBytes", {2110, "wait for full"}, {1613, "announce", "load B"}},
    {Ring::TwoArrivalsCounted,
     "TwoArrivalsCounted",
     {2110, "wait for full"},
     {1611, "wait for full"}},
    {Ring::EveryThreadArrives,
     "EveryThreadArrives",
     {2106, "announce by all"},
     {1614, "announce by all"}},
    {Ring::ProducerStartsInPhase0,
     "ProducerStartsInPhase0",
     {2110, "wait for empty"},
     {1611, "wait for empty", "wait for full"}},
    {Ring::ConsumerStartsInPhase1,
     "ConsumerStartsInPhase1",
     {2101, "multiply", "load A"},
     {1611, "wait for full"},
     7,
     Seen::InSomeTiming},
    {Ring::ProducerPhaseNotFlipped,
     "ProducerPhaseNotFlipped",
     {2101, "load A", "multiply"},
     {1612, "load A"},
     7,
     Seen::InSomeTiming},
    {Ring::ConsumerPhaseNotFlipped,
     "ConsumerPhaseNotFlipped",
     {2101, "multiply", "load A"},
     {1611, "wait for empty"},
     7,
     Seen::InSomeTiming},
    {Ring::ConsumerAdvancesTwice,
     "ConsumerAdvancesTwice",
     {2110, "wait for full"},
     {1611, "wait for full"},
     7,
     Seen::InSomeTiming},
    {Ring::ProducerAdvancesTwice,
     "ProducerAdvancesTwice",
     {2110, "wait for full"},
     {1611, "wait for full"}},
    {Ring::ReleasedByArrival,
     "ReleasedByArrival",
     {2101, "load A", "multiply"},
     {1612, "load A", "multiply"}},
    {Ring::RelaxedWait, "RelaxedWait", {2101, "multiply", "load A"}, {1612, "multiply", "load A"}},
    {Ring::OtherWarpMultiplies,
     "OtherWarpMultiplies",
     {2101, "multiply", "load A"},
     {1612, "multiply", "load A"}},
    {Ring::LoadArrivesOnOtherSlot,
     "LoadArrivesOnOtherSlot",
     {2101, "load B", "multiply"},
     {1613, "announce", "load A"}},
    {Ring::LoadIntoOneSlot, "LoadIntoOneSlot", {2101, "load B"}, {1612, "load B"}},
    {Ring::FirstProductAccumulates,
     "FirstProductAccumulates",
     {2103, "multiply"},
     {1616, "multiply"}},
    {Ring::NoFinalCommit,
     "NoFinalCommit",
     {2110, "wait for products"},
     {1611, "wait for products"}},
    {Ring::NoFinalWait,
     "NoFinalWait",
     {2101, "read accumulator", "multiply"},
     {1612, "read accumulator", "multiply"}},
    {Ring::NoSyncBeforeEpilogue,
     "NoSyncBeforeEpilogue",
     {2101, "read accumulator", "multiply"},
     {1612, "multiply", "read accumulator"}},
    {Ring::CommitBeforeProduct,
     "CommitBeforeProduct",
     {2101, "load A", "multiply"},
     {1612, "load A", "multiply"}},
    {Ring::OneTileTooMany, "OneTileTooMany", {2111, "load A"}, {1615, "load A"}},
    {Ring::OneTileTooFew, "OneTileTooFew", {2110, "wait for full"}, {1611, "wait for full"}},
    {Ring::TailWaitsForEverySlot, "TailWaitsForEverySlot", {2110, "tail"}, {1611, "tail"}, 2},
};
INSTANTIATE_TEST_SUITE_P(All, RingBugs, ::testing::ValuesIn(cases), nameOf<Ring>);

TEST(Ring, IsRightWithoutBug) {
  expectRight(RingMatmul{}, Target::sm_100a().emulated(), 7);
  expectRight(RingMatmul{}, Target::sm_100a().emulated(), 2);
}

// The tail is right where every slot has been used.
// What a relaxed wait does not order is shared memory; for tensor memory the compiler puts a
// fence after it.
TEST(Ring, RelaxedWaitForProductsIsRight) {
  expectRight(RingMatmul{.final_wait = Relaxed}, Target::sm_100a().emulated(), 7);
}

TEST(Ring, TailIsRightWithOneRound) {
  expectRight(RingMatmul{.bug = Ring::TailWaitsForEverySlot}, Target::sm_100a().emulated(), 3,
              {.check_barriers = false});
}

} // namespace
