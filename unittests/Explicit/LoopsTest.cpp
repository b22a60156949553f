//===- LoopsTest.cpp - What following a kernel sees of its loops ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops over two sizes, loops without barriers whose slices move, and loops that
// cannot be followed.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

enum class Nest { None, BytesOfA, NoWaitForEmpty, EmptyInPhase0, OneArrivalTooMany, NoWaitForFull };

enum class Outer { For, While, None };

/// A strip of C: a loop over K, alone or inside of a loop over N.
struct StripMatmul {
  Nest bug = Nest::None;
  Outer outer = Outer::For;
  bool causal = false; ///< later strips need more of K
  int block_m = 64, block_n = 32, block_k = 32, stages = 2;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  bool is(Nest one) const { return bug == one; }

  template <class Body> void forStrips(Block &b, const Index &strips, Body body) const {
    if (outer == Outer::None)
      return body(Index(0));
    if (outer == Outer::For) {
      for (Index n : b.range(strips))
        body(n);
      return;
    }
    Var<int> n(b, 0);
    b.loop_while([&] { return Index(Scalar<int>(n)) < strips; },
                 [&] {
                   body(Index(Scalar<int>(n)));
                   n = n + 1;
                 });
  }

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto strips = ceil_div(B.size(0), block_n);
    auto steps = [&](const Index &n) {
      auto all = ceil_div(A.size(1), block_k);
      return causal ? min(all, n + 1) : all;
    };
    auto m0 = b.grid(ceil_div(A.size(0), block_m)) * block_m;
    b.threads(256);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    auto full = b.mbarrier.alloc(stages, 1);
    auto empty = b.mbarrier.alloc(stages, is(Nest::OneArrivalTooMany) ? 129 : 128);
    b.warp(0, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, is(Nest::EmptyInPhase0) ? 0u : 1u);
      forStrips(b, strips, [&](const Index &n) {
        for (Index k : b.range(steps(n))) {
          if (!is(Nest::NoWaitForEmpty))
            b.mbarrier.wait(empty[slot], phase); // [wait for empty]
          auto bytes = As[0].bytes() + (is(Nest::BytesOfA) ? 0 : Bs[0].bytes());
          b.elect_one([&] {
            b.mbarrier.arrive_expect(full[slot], bytes); // [announce]
          });
          b.tma.load(A.at(m0, k * block_k), As[slot], full[slot]); // [load]
          b.tma.load(B.at(n * block_n, k * block_k), Bs[slot], full[slot]);
          slot = (slot + 1) % stages;
          phase ^= slot == 0;
        }
      });
    });
    b.warps(4, 4, [&] {
      Var<int> slot(b, 0);
      Var<unsigned> phase(b, 0u);
      forStrips(b, strips, [&](const Index &n) {
        b.fill(acc, 0);
        for (Index k : b.range(steps(n))) {
          static_cast<void>(k);
          if (!is(Nest::NoWaitForFull))
            b.mbarrier.wait(full[slot], phase);
          b.wgmma.fence();
          b.wgmma.mma(As[slot], transposed(Bs[slot]), acc); // [multiply]
          b.wgmma.commit_group();
          b.wgmma.wait_group(0);
          b.mbarrier.arrive(empty[slot]);
          slot = (slot + 1) % stages;
          phase ^= slot == 0;
        }
        b.copy(acc, C.at(m0, n * block_n));
      });
    });
  }
};

Target hopper() { return Target::sm_90a().emulated(); }

TEST(NestedLoops, OverTwoSizesAreFollowed) {
  struct {
    Nest bug;
    Told told;
  } cases[] = {{Nest::BytesOfA, {1613, "announce"}},
               {Nest::NoWaitForEmpty, {1612, "load"}},
               {Nest::EmptyInPhase0, {1611, "wait for empty"}},
               {Nest::OneArrivalTooMany, {1611, "wait for empty"}},
               {Nest::NoWaitForFull, {1612, "multiply"}}};
  for (Outer outer : {Outer::For, Outer::While, Outer::None}) {
    auto right = try_compile(StripMatmul{.outer = outer}, hopper());
    EXPECT_TRUE(bool(right) && right.diagnostics.empty()) << to_text(right.diagnostics);
    for (auto &[bug, told] : cases) {
      SCOPED_TRACE(testing::Message() << int(bug) << " " << int(outer));
      expectRefused(StripMatmul{.bug = bug, .outer = outer}, hopper(), told, __FILE__);
    }
  }
}

// How long the inner loop is depends on the iteration of the outer one: only the third
// strip uses a slot again.
TEST(NestedLoops, OfDifferentLengthsAreFollowed) {
  auto right = try_compile(StripMatmul{.causal = true}, hopper());
  EXPECT_TRUE(bool(right) && right.diagnostics.empty()) << to_text(right.diagnostics);
  expectRefused(StripMatmul{.bug = Nest::NoWaitForEmpty, .causal = true}, hopper(), {1612, "load"},
                __FILE__);
}

/// A loop of threads fills a tile strip by strip, eight rows each.
struct Strips {
  bool copyAhead = false; ///< TMA fills the last strip while the loop may write it
  static constexpr auto signature = "A[M,K] -> C[M,K]";

  void operator()(Block &b, In<f16, 2> A, Out<f16, 2> C) const {
    auto m0 = b.grid(ceil_div(A.size(0), 64)) * 64;
    b.threads(128);
    auto tile = b.shared<f16>(64, 32);
    auto [full] = b.mbarrier.alloc<1>({1});
    auto last = slice(tile, {56, 0}, {8, 32});
    if (copyAhead) {
      b.elect_one([&] { b.mbarrier.arrive_expect(full, last.bytes()); });
      b.tma.load(A.at(m0 + 56, 0), last, full); // [ahead]
    }
    for (Index strip : b.range(8))
      b.copy(A.at(m0 + strip * 8, 0), slice(tile, {strip * 8, 0}, {8, 32})); // [strip]
    if (copyAhead)
      b.mbarrier.wait(full, 0);
    b.fence.proxy_async();
    b.sync();
    b.tma.store(last, C.at(m0 + 56, 0)); // what the eighth iteration wrote
    b.tma.commit_group();
    b.tma.wait_group(0);
  }
};

TEST(PlainLoops, AreFollowedToTheirEnd) {
  auto right = try_compile(Strips{}, hopper());
  EXPECT_TRUE(bool(right) && right.diagnostics.empty()) << to_text(right.diagnostics);
  expectRefused(Strips{.copyAhead = true}, hopper(), {1612, "strip", "ahead"}, __FILE__);
}

/// The second half announces the first phase of `met` and waits for the second, in which
/// it comes again: a wait is for the phase of the own arrival, whatever its number.
struct Exchange {
  bool forgotten = false; ///< the second half does not come again
  static constexpr auto signature = "A[M,N] -> C[M,N]";

  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    b.grid(1);
    b.threads(256);
    auto tile = b.shared<f32>(64, 64);
    auto met = b.named_barrier.alloc(256), other = b.named_barrier.alloc(256);
    b.warps(0, 4, [&] {
      b.named_barrier.sync(met);
      b.named_barrier.sync(other);
      b.copy(A.at(0, 0), tile);  // [write]
      b.named_barrier.sync(met); // [second]
    });
    b.warps(4, 4, [&] {
      b.named_barrier.arrive(met);
      b.named_barrier.sync(other);
      if (!forgotten)
        b.named_barrier.sync(met);
      auto theirs = b.local<f32>(64, 64);
      b.copy(tile, theirs);
      b.copy(theirs, C.at(0, 0));
    });
  }
};

TEST(NamedBarriers, WaitForThePhaseOfTheirOwnArrival) {
  auto right = try_compile(Exchange{}, hopper());
  EXPECT_TRUE(bool(right) && right.diagnostics.empty()) << to_text(right.diagnostics);
  expectRefused(Exchange{.forgotten = true}, hopper(), {1611, "second"}, __FILE__);
}

TEST(UnsupportedProtocol, IsAWarning) {
  auto kernel = [](Block &b, In<i32, 1> T, Out<i32, 1> C) {
    b.grid(1);
    b.threads(32);
    auto [turn] = b.mbarrier.alloc<1>({32});
    Var<unsigned> phase(b, 0u);
    for (Index i : b.range(Index(T.load(0)))) { // [loop]
      static_cast<void>(i);
      b.mbarrier.arrive(turn);
      b.mbarrier.wait(turn, phase);
      phase ^= 1u;
    }
    b.store(C.at(0), T.load(0));
  };
  auto compiled = try_compile(kernel, hopper());
  EXPECT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  ASSERT_EQ(compiled.diagnostics.size(), 1u) << to_text(compiled.diagnostics);
  EXPECT_EQ(compiled.diagnostics[0].severity, Severity::Warning);
  expectFinding(compiled.diagnostics, {1617, "loop"}, __FILE__);
}

} // namespace
