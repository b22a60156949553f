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
