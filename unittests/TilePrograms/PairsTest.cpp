//===- PairsTest.cpp - Two blocks that multiply as one --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// A matmul in pairs along the rows of C, or along its columns, whose A is then the one in common.
template <int Columns, int Stages, int Group = 0, bool Epilogue = false> struct PairedMatmul {
  static constexpr auto signature = "A[M,K], B[N,K], bias[N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f32, 1> bias, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto rows = ceil_div(M, 128), columns = ceil_div(B.size(0), Columns);
    auto [bm, bn] = Group ? b.grid(rows, columns, swizzled(Group)) : b.grid(rows, columns);
    b.prefer({.pair = true});
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(Columns, 64);
    auto acc = b.local<f32>(128, Columns);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = Stages})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * Columns, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    if (Epilogue) {
      auto added = b.local<f32>(Columns);
      b.copy(bias.at(bn * Columns), added);
      b.set(acc, max(acc + broadcast_cols(added), 0));
    }
    b.copy(acc, C.at(bm * 128, bn * Columns));
  }
};
using Pair64 = PairedMatmul<64, 2>;
using Pair128 = PairedMatmul<128, 3, 2>;
using Pair256 = PairedMatmul<256, 4, 0, true>;
PENSTOCK_KERNEL(Pair64);
PENSTOCK_KERNEL(Pair128);
PENSTOCK_KERNEL(Pair256);

/// Teams of two blocks compute one tile below the other, and several of these in turn. The depth
/// of a tile may differ from that of the tile before, and be 0.
template <int Stages, bool Pair, bool Uneven = false> struct Team {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto columns = ceil_div(B.size(0), 64);
    auto tiles = ceil_div(M, 256) * columns, steps = ceil_div(K, 64);
    auto [member, team] = b.grid(2, 2);
    b.prefer({.cluster = {2, 1}, .pair = Pair});
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    for (Index t : b.range(team, tiles, 2)) {
      Index m0 = (t / columns * 2 + member) * 128, n0 = t % columns * 64;
      b.fill(acc, 0);
      for (Index k : b.pipelined(Uneven ? min(steps, t % 4) : steps, {.num_stages = Stages})) {
        b.copy(A.at(m0, k * 64), As);
        b.copy(B.at(n0, k * 64), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
      b.copy(acc, C.at(m0, n0));
    }
  }
};
using Team2 = Team<2, true>;
using Team3 = Team<3, true>;
using UnevenTeam = Team<3, true, true>;
using SharingTeam = Team<3, false>;
using UnevenSharingTeam = Team<3, false, true>;
PENSTOCK_KERNEL(Team2);
PENSTOCK_KERNEL(Team3);
PENSTOCK_KERNEL(UnevenTeam);
PENSTOCK_KERNEL(SharingTeam);
PENSTOCK_KERNEL(UnevenSharingTeam);

/// The same with a part that keeps blocks from being paired.
template <int What> struct Unpaired {
  static constexpr auto signature = "A[M,K], B[N,K], scale[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f16, 2> scale, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(B.size(0), 64));
    if (What == 0)
      b.prefer({.cluster = {1, 2}, .pair = true}); // A is in common
    else
      b.prefer({.pair = true});
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64), other = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (int half = 0; half < (What == 1 ? 2 : 1); ++half) // two products
      for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = 3})) {
        b.copy(A.at(bm * 128, k * 64), As);
        b.copy(B.at(bn * 64, k * 64), Bs);
        if (What == 2) { // threads read what TMA copies
          b.copy(scale.at(bn * 64, k * 64), other);
          b.set(Bs, Bs * other);
        }
        b.gemm(As, transposed(Bs), acc);
      }
    b.copy(acc, C.at(bm * 128, bn * 64));
  }
};
using CommonLeft = Unpaired<0>;
using TwoProducts = Unpaired<1>;
using ThreadsRead = Unpaired<2>;
PENSTOCK_KERNEL(CommonLeft);
PENSTOCK_KERNEL(TwoProducts);
PENSTOCK_KERNEL(ThreadsRead);

TEST(Pairs, AreRight) {
  for (const char *name : {"Pair64", "Pair128", "Pair256"})
    for (int64_t k : {0, 64, 72, 200, 448})
      expectSameEverywhere(name, {{{"M", 300}, {"N", 72}, {"K", k}}});
}

TEST(Pairs, OneAndManyAreRight) {
  for (const char *name : {"Pair64", "Pair128", "Pair256"})
    expectSameEverywhere(name, {{{"M", 8}, {"N", 8}, {"K", 128}},
                                {{"M", 256}, {"N", 264}, {"K", 136}},
                                {{"M", 0}, {"N", 64}, {"K", 64}}});
}

TEST(Pairs, MultiplyAsOne) {
  for (const char *name : {"Pair64", "Pair128", "Pair256"}) {
    std::string plan = planOf(name, "sm_100a");
    EXPECT_NE(plan.find("pairs of blocks multiply as one"), std::string::npos) << plan;
    std::string ptx = compileFor(name, Target::sm_100a().emulated()).ptx();
    EXPECT_NE(ptx.find("tcgen05.mma.cta_group::2"), std::string::npos);
    EXPECT_EQ(ptx.find("cta_group::1"), std::string::npos);
  }
  EXPECT_NE(planOf("Pair256", "sm_100a").find("each copies 128 rows of `Bs`"), std::string::npos);
}

TEST(Pairs, TeamsAreRight) {
  for (const char *name : {"Team2", "Team3", "SharingTeam"})
    for (int64_t k : {0, 64, 136, 448})
      expectSameEverywhere(name, {{{"M", 600}, {"N", 200}, {"K", k}}});
  for (const char *name : {"UnevenTeam", "UnevenSharingTeam"})
    expectSameEverywhere(name, {{{"M", 600}, {"N", 264}, {"K", 200}},
                                {{"M", 8}, {"N", 136}, {"K", 64}},
                                {{"M", 0}, {"N", 64}, {"K", 64}}});
}

/// The epilogue of a tile runs under the products of the next one, in both blocks.
TEST(Pairs, TeamsKeepRingsOpen) {
  for (const char *name : {"Team2", "Team3"}) {
    std::string plan = planOf(name, "sm_100a");
    for (const char *part : {"pairs of blocks multiply as one", "rings stay open",
                             "mma: leader wait after epilogue of acc distance 2",
                             // a thread of each warp of both blocks
                             "barriers after epilogue of acc: 8 arrivals for each slot"})
      EXPECT_NE(plan.find(part), std::string::npos) << plan;
  }
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string plan = planOf("SharingTeam", gpu);
    EXPECT_NE(plan.find("each of 2 blocks copies 32 rows to all of them"), std::string::npos)
        << plan;
  }
}

TEST(Pairs, ReasonsAreTold) {
  auto expectReason = [](const char *name, const char *gpu, const char *why) {
    std::string plan = planOf(name, gpu);
    EXPECT_NE(plan.find(std::string("no pairs: ") + why), std::string::npos) << plan;
  };
  expectReason("Pair128", "sm_90a", "the GPU has none");
  expectReason("CommonLeft", "sm_100a", "blocks do not have rows of a transposed right operand");
  expectReason("TwoProducts", "sm_100a", "the kernel has other than one product by tcgen05");
  expectReason("ThreadsRead", "sm_100a", "the loop copies by TMA other than one tile");
  for (const char *name : {"CommonLeft", "TwoProducts", "ThreadsRead"})
    expectSameEverywhere(name, {{{"M", 260}, {"N", 136}, {"K", 136}}});
}

TEST(Pairs, NothingIsPreferredByDefault) {
  EXPECT_TRUE(bool(try_compile(
      [](Block &b, Out<f32, 2> X) {
        auto [i, j] = b.grid(X.size(0), X.size(1));
        b.prefer({});
        b.store(X.at(i, j), 1);
      },
      Target::native(), {.name = "unasked"})));
}

TEST(Pairs, AreOfTwoBlocks) {
  auto refused = try_compile(
      [](Block &b, In<f32, 1> X) {
        (void)b.grid(X.size(0));
        b.prefer({.cluster = {4}, .pair = true});
      },
      Target::native(), {.name = "four"});
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.diagnostics.front().code, 1109u) << to_text(refused.diagnostics);
}

} // namespace
