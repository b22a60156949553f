//===- StarvedWarpTest.cpp - Bugs that show when a warp is late -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that run well as long as every warp gets its turn, and their right twins,
// which do so whichever warp is starved.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"
#include "WatchedRing.h"

using namespace bugs;
using watched::WatchedRing;

namespace {

/// The findings of a launch over 16 tiles; what is wrong is counted.
template <class Kernel>
std::vector<Diagnostic> copyTiles(const Kernel &kernel, LaunchOptions options, int64_t &wrong) {
  std::vector<float> a(512 * 32), c(512 * 32, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i % 1000);
  auto found = kernel.try_launch(options, view(a, {512, 32}), view(c, {512, 32}));
  wrong = 0;
  for (size_t i = 0; i < a.size(); ++i)
    wrong += a[i] != c[i];
  return found;
}

TEST(StarvedWarp, ARingThatWaitsForAllIsRight) {
  auto kernel = compile(WatchedRing{}, Target::sm_90a().emulated());
  for (Completion completion : {Completion::Eager, Completion::Latest, Completion::Random})
    for (int warp = -1; warp < 8; ++warp) {
      int64_t wrong = 0;
      auto found =
          copyTiles(kernel, {.completion = completion, .seed = 1, .starved_warp = warp}, wrong);
      EXPECT_TRUE(found.empty()) << warp << "\n" << to_text(found);
      EXPECT_EQ(wrong, 0) << warp;
    }
}

/// In any timing the emulator reports that a phase may pass unseen; it hangs where that warp is
/// starved.
TEST(StarvedWarp, ARingThatForgetsAWarpIsCaught) {
  std::string file = __FILE__;
  file.replace(file.rfind('/') + 1, std::string::npos, "WatchedRing.h");
  auto kernel = compile(WatchedRing{.counted = false}, Target::sm_90a().emulated(),
                        {.check_barriers = false});
  int64_t wrong = 0;
  for (Completion completion : {Completion::Eager, Completion::Latest}) {
    auto found = copyTiles(kernel, {.completion = completion}, wrong);
    expectFinding(found, {1742, "watch"}, file);
  }
  auto found = copyTiles(kernel, {.starved_warp = 1}, wrong);
  expectFinding(found, {2110, "watch"}, file);
  EXPECT_NE(to_text(found).find("warp 1 waits for mbarrier `full["), std::string::npos)
      << to_text(found);
  EXPECT_NE(to_text(found).find("eager timing that starves warp 1"), std::string::npos)
      << to_text(found);
}

/// C = A B^T by tcgen05. The tensor core gives back the slot behind the one that it has
/// read: right only while the loading warp has asked for that one already.
struct GivesBackNext {
  bool bugn = false;
  int block_m = 128, block_n = 32, block_k = 32, stages = 3;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto tiles = ceil_div(A.size(1), block_k);
    b.grid(1);
    b.threads(128);
    auto As = b.shared<f16>(stages, block_m, block_k);
    auto Bs = b.shared<f16>(stages, block_n, block_k);
    auto acc = b.tcgen05.alloc<f32>(block_m, block_n);
    auto [done] = b.mbarrier.alloc<1>({1});
    auto full = b.mbarrier.alloc(stages, 1), empty = b.mbarrier.alloc(stages, 1);

    b.warp(0, [&] {
      Var<int> s(b, 0);
      Var<unsigned> phase(b, 1);
      for (Index k : b.range(tiles)) {
        b.mbarrier.wait(empty[s], phase); // [space]
        b.elect_one([&] { b.mbarrier.arrive_expect(full[s], As[0].bytes() + Bs[0].bytes()); });
        b.tma.load(A.at(0, k * block_k), As[s], full[s]);
        b.tma.load(B.at(0, k * block_k), Bs[s], full[s]);
        s = (s + 1) % stages;
        phase ^= s == 0;
      }
    });
    b.warp(1, [&] {
      Var<int> s(b, 0);
      Var<unsigned> phase(b, 0);
      for (Index k : b.range(tiles)) {
        b.mbarrier.wait(full[s], phase);
        b.tcgen05.mma(As[s], transposed(Bs[s]), acc, {.accumulate = k != 0});
        b.tcgen05.commit(empty[(s + (bugn ? 1 : 0)) % stages]);
        s = (s + 1) % stages;
        phase ^= s == 0;
      }
      b.tcgen05.commit(done);
      b.mbarrier.wait(done, 0);
    });
    b.sync();
    auto slab = b.tcgen05.load(acc);
    b.tcgen05.wait_load();
    b.copy(slab, C.at(0, 0));
    b.sync();
    b.tcgen05.dealloc(acc);
  }
};

TEST(StarvedWarp, ASlotGivenBackTooEarlyIsCaughtWhenTheLoadingWarpIsStarved) {
  for (bool bugn : {false, true}) {
    GivesBackNext kernel{.bugn = bugn};
    auto compiled = compile(kernel, Target::sm_100a().emulated(), {.check_barriers = false});
    for (int warp = 0; warp < 4; ++warp) {
      Product product(kernel.block_m, kernel.block_n, 7 * kernel.block_k);
      auto found = compiled.try_launch({.starved_warp = warp}, view(product.a, {128, 224}),
                                       view(product.b, {32, 224}), view(product.c, {128, 32}));
      if (!bugn) {
        EXPECT_TRUE(found.empty()) << warp << "\n" << to_text(found);
        EXPECT_EQ(product.wrong(), 0) << warp;
      } else if (warp == 0) {
        expectFinding(found, {2110, "space"}, __FILE__);
      }
    }
  }
}

/// A tile program, for any target.
struct Copied {
  static constexpr auto signature = "x[N] -> y[N]";
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto t = b.local<f32>(64);
    auto at = b.grid(ceil_div(x.size(0), 64)) * 64;
    b.copy(x.at(at), t);
    b.copy(t, y.at(at));
  }
};

TEST(StarvedWarp, OnlyKernelsForGpusHaveWarps) {
  auto kernel = compile(WatchedRing{}, Target::sm_90a().emulated());
  int64_t wrong = 0;
  auto found = copyTiles(kernel, {.starved_warp = 8}, wrong);
  ASSERT_EQ(found.size(), 1u) << to_text(found);
  EXPECT_EQ(found[0].code, 2115u);
  EXPECT_NE(found[0].message.find("it has 8 warps"), std::string::npos) << to_text(found);
  std::vector<float> x(64), y(64);
  for (Target target : {Target::interpreter(), Target::native()}) {
    auto refused =
        compile(Copied{}, target).try_launch({.starved_warp = 0}, view(x, {64}), view(y, {64}));
    ASSERT_EQ(refused.size(), 1u) << to_text(refused);
    EXPECT_EQ(refused[0].code, 1307u) << to_text(refused);
  }
}

} // namespace
