//===- PersistentTest.cpp - Bugs in loops inside of loops -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few blocks take all tiles of the result in turn. Loads run ahead across tiles,
// and there are two accumulators, so that one tile is stored while the next is
// multiplied. How many tiles there are and how long a product is depend on
// different sizes: what goes wrong in the second or third tile, or only with some
// combinations, has to be found as well.
//
//===----------------------------------------------------------------------===//
#include "../../examples/attention/blackwell.h"
#include "../../examples/attention/hopper.h"
#include "../../examples/blackwell_matmul/v5.h"
#include "InjectedBugs.h"

#include <ctime>

using namespace bugs;

namespace {

enum class Turn {
  None,
  NoWaitForEmpty,
  NoRelease,
  TooFewBytes,
  NoWaitForAccumulator,
  AccumulatorNotGivenBack,
  AccumulatorGivenBackTooEarly,
  NoWaitForProduct,
  LoaderStartsAgain,
  StorerStartsAgain,
  OneAccumulatorTooFewPhases,
  LoaderTakesOneTileMore,
  ReleasesNextSlot,
  Spectator,
};

struct PersistentMatmul {
  Turn bug = Turn::None;
  int block_m = 128, block_n = 32, block_k = 32, stages = 3, blocks = 2;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Turn one) const { return bug == one; }

  /// Where a role is in a ring.
  struct Cursor {
    Var<int> slot;
    Var<unsigned> phase;
    int slots;
    Cursor(Block &b, int slots, unsigned first) : slot(b, 0), phase(b, first), slots(slots) {}
    void advance() {
      slot = (slot + 1) % slots;
      phase ^= slot == 0;
    }
    void restart(unsigned first) {
      slot = 0;
      phase = first;
    }
  };

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto tiles_m = ceil_div(M, block_m), tiles_n = ceil_div(N, block_n);
    auto tiles = tiles_m * tiles_n, steps = ceil_div(K, block_k);
    auto block = b.grid(blocks);

    b.threads(224);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto Cs = b.shared<f16>(block_m, block_n);
    auto acc = b.tcgen05.alloc<f32>(block_m, 2 * block_n);
    auto full = b.mbarrier.alloc(stages, 1), empty = b.mbarrier.alloc(stages, 1);
    auto made = b.mbarrier.alloc(2, 1), taken = b.mbarrier.alloc(2, 128);
    auto target = [&](const Var<int> &slot) {
      return slice(acc, {0, Index(Scalar<int>(slot)) * block_n}, {block_m, block_n});
    };

    b.warp(4, [&] { // loads
      Cursor at(b, stages, mbarrier::producer_phase);
      auto end = is(Turn::LoaderTakesOneTileMore) ? tiles + blocks : tiles;
      for (Index tile : b.range(block, end, blocks)) {
        auto m0 = tile / max(tiles_n, 1) * block_m, n0 = tile % max(tiles_n, 1) * block_n;
        if (is(Turn::LoaderStartsAgain))
          at.restart(mbarrier::producer_phase);
        for (Index k : b.range(steps)) {
          if (!is(Turn::NoWaitForEmpty))
            b.mbarrier.wait(empty[at.slot], at.phase); // [wait for empty]
          b.elect_one([&] {
            auto bytes = As[0].bytes() + (is(Turn::TooFewBytes) ? 0 : Bs[0].bytes());
            b.mbarrier.arrive_expect(full[at.slot], bytes); // [announce]
          });
          b.tma.load(A.at(m0, k * block_k), As[at.slot], full[at.slot]); // [load]
          b.tma.load(B.at(n0, k * block_k), Bs[at.slot], full[at.slot]);
          at.advance();
        }
      }
    });
    b.warp(5, [&] { // multiplies
      Cursor at(b, stages, mbarrier::consumer_phase), out(b, 2, mbarrier::producer_phase);
      for (Index tile : b.range(block, tiles, blocks)) {
        static_cast<void>(tile);
        if (!is(Turn::NoWaitForAccumulator))
          b.mbarrier.wait(taken[out.slot], out.phase); // [wait for accumulator]
        for (Index k : b.range(steps)) {
          b.mbarrier.wait(full[at.slot], at.phase);                             // [wait for full]
          b.tcgen05.mma(As[at.slot], transposed(Bs[at.slot]), target(out.slot), // [multiply]
                        {.accumulate = k != 0});
          // In slow timings this is as good as the right slot.
          if (is(Turn::ReleasesNextSlot))
            b.tcgen05.commit(empty[(at.slot + 1) % stages]);
          else if (!is(Turn::NoRelease))
            b.tcgen05.commit(empty[at.slot]);
          at.advance();
        }
        b.tcgen05.commit(made[out.slot]); // [made]
        out.advance();
      }
    });
    b.warps(0, 4, [&] { // store
      Cursor at(b, is(Turn::OneAccumulatorTooFewPhases) ? 1 : 2, mbarrier::consumer_phase);
      for (Index tile : b.range(block, tiles, blocks)) {
        auto m0 = tile / max(tiles_n, 1) * block_m, n0 = tile % max(tiles_n, 1) * block_n;
        if (is(Turn::StorerStartsAgain))
          at.restart(mbarrier::consumer_phase);
        if (!is(Turn::NoWaitForProduct))
          b.mbarrier.wait(made[at.slot], at.phase); // [wait for product]
        if (is(Turn::AccumulatorGivenBackTooEarly))
          b.mbarrier.arrive(taken[at.slot]);
        b.when(
            K > 0,
            [&] {
              auto slab = b.tcgen05.load(target(at.slot)); // [take]
              b.tcgen05.wait_load();
              b.store(Cs, cast<f16>(slab));
            },
            [&] { b.store(Cs, 0); });
        if (!is(Turn::AccumulatorNotGivenBack) && !is(Turn::AccumulatorGivenBackTooEarly))
          b.mbarrier.arrive(taken[at.slot]); // [give back]
        b.fence.proxy_async();
        b.sync();
        b.tma.store(Cs, C.at(m0, n0));
        b.tma.commit_group();
        b.tma.wait_group(0, {.read = true});
        b.sync();
        at.advance();
      }
    });
    if (is(Turn::Spectator)) // no warp waits for this one, so it can miss a phase
      b.warp(6, [&] {
        Cursor at(b, stages, mbarrier::consumer_phase);
        for (Index tile : b.range(block, tiles, blocks))
          for (Index k : b.range(steps)) {
            static_cast<void>(tile), static_cast<void>(k);
            b.mbarrier.wait(full[at.slot], at.phase); // [look on]
            at.advance();
          }
      });
    b.sync();
    b.tcgen05.dealloc(acc);
  }
};

Target sm100a() { return Target::sm_100a().emulated(); }

TEST(Persistent, IsRight) {
  auto compiled = try_compile(PersistentMatmul{}, sm100a());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  EXPECT_TRUE(compiled.diagnostics.empty()) << to_text(compiled.diagnostics); // all is checked
  for (int64_t k : {0, 1, 4})
    for (Timing timing : timings) {
      Product product(2 * 128, 4 * 32, k * 32);
      auto found = product.launch(compiled.kernel, timing);
      EXPECT_TRUE(found.empty()) << timing.name << "\n" << to_text(found);
      EXPECT_EQ(product.wrong(), 0) << timing.name << " " << k;
    }
}

TEST(Persistent, BugsAreRefused) {
  struct {
    Turn bug;
    Told told;
  } cases[] = {
      {Turn::NoWaitForEmpty, {1612, "load"}},
      {Turn::NoRelease, {1611, "wait for empty"}},
      {Turn::TooFewBytes, {1613, "announce"}},
      {Turn::NoWaitForAccumulator, {1612, "multiply"}},
      {Turn::AccumulatorNotGivenBack, {1611, "wait for accumulator"}},
      {Turn::AccumulatorGivenBackTooEarly, {1612, "multiply", "take"}},
      {Turn::NoWaitForProduct, {1612, "take"}},
      {Turn::LoaderStartsAgain, {}},
      {Turn::StorerStartsAgain, {}},
      {Turn::OneAccumulatorTooFewPhases, {1611, "wait for product"}},
      {Turn::LoaderTakesOneTileMore, {}},
      {Turn::ReleasesNextSlot, {1611, "wait for empty"}},
      {Turn::Spectator, {1611, "look on"}},
  };
  for (auto &[bug, told] : cases) {
    SCOPED_TRACE(int(bug));
    auto compiled = try_compile(PersistentMatmul{.bug = bug}, sm100a());
    EXPECT_FALSE(bool(compiled));
    if (told.code)
      expectFinding(compiled.diagnostics, told, __FILE__);
  }
}

/// Processor time, in seconds, of a compilation.
template <class K> double secondsToCompile(const K &kernel, Target target, bool check) {
  timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  auto compiled = try_compile(kernel, target, {.check_barriers = check});
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  EXPECT_TRUE(bool(compiled));
  EXPECT_TRUE(compiled.diagnostics.empty()) << to_text(compiled.diagnostics); // all is checked
  return double(end.tv_sec - begin.tv_sec) + 1e-9 * double(end.tv_nsec - begin.tv_nsec);
}

// A check takes less than 20 ms; the bound is for slow machines and sanitizers.
template <class K> void expectQuickCheck(const char *name, const K &kernel, Target target) {
  double with = 1e9, without = 1e9;
  for (int i = 0; i < 3; ++i) {
    with = std::min(with, secondsToCompile(kernel, target, true));
    without = std::min(without, secondsToCompile(kernel, target, false));
  }
  std::printf("%s: %.1f ms\n", name, 1e3 * (with - without));
  EXPECT_LT(with - without, 0.5) << name;
}

TEST(Persistent, IsCheckedInAMoment) {
  expectQuickCheck("persistent", PersistentMatmul{}, sm100a());
  expectQuickCheck("V5", blackwell::MatmulV5{}, sm100a());
  expectQuickCheck("Blackwell attention", attention::BlackwellAttention{}, sm100a());
  expectQuickCheck("Hopper attention", attention::HopperAttention{}, Target::sm_90a().emulated());
}

} // namespace
