//===- LaunchControlTest.cpp - Blocks that take over others ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// Rings and accumulators stay in use from one tile to the next.
template <int clusterM, int clusterN, bool pair> struct TakenProducts {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(B.size(0), 64), swizzled(2));
    b.prefer({.cluster = {clusterM, clusterN}, .pair = pair, .launch_control = true});
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = 3})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 64, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 128, bn * 64));
  }
};
using TakenMatmul = TakenProducts<1, 1, false>;
using TakenPairs = TakenProducts<2, 1, true>;
using TakenClusters = TakenProducts<2, 2, false>;
PENSTOCK_KERNEL(TakenMatmul);
PENSTOCK_KERNEL(TakenPairs);
PENSTOCK_KERNEL(TakenClusters);

/// One group of warps, without a pipeline, in three extents, which say where a block is.
struct TakenSums {
  static constexpr auto signature = "X[P,M,N] -> Y[P,M,N]";
  void operator()(Block &b, In<i32, 3> X, Out<i32, 3> Y) const {
    auto [P, M, N] = X.sizes();
    auto [p, bm, bn] = b.grid(P, ceil_div(M, 16), ceil_div(N, 32));
    b.prefer({.launch_control = true});
    auto x = b.local<i32>(16, 32);
    auto rows = b.local<i32>(16);
    auto passed = b.shared<i32>(16, 32);
    b.copy(X.at(p, bm * 16, bn * 32), x);
    b.reduce(Sum, x, 1, rows);
    b.set(passed, x + broadcast_rows(rows));
    b.set(x, passed + cast<i32>(p * 100 + bm * 10 + bn));
    b.copy(x, Y.at(p, bm * 16, bn * 32));
  }
};
PENSTOCK_KERNEL(TakenSums);

/// A tile that threads fill before the loop: roles meet between two blocks.
struct TakenAttention {
  static constexpr auto signature = "Q[M,D], K[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, Out<f32, 2> O) const {
    auto N = K.size(0);
    auto m0 = b.grid(ceil_div(Q.size(0), 128)) * 128;
    b.prefer({.launch_control = true});
    auto Qs = b.shared<f16>(128, 64), Ks = b.shared<f16>(64, 64);
    auto S = b.local<f32>(128, 64), out = b.local<f32>(128, 64);
    auto P = b.local<f16>(128, 64);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(out, 0);
    for (Index n : b.pipelined(ceil_div(N, 64), {.num_stages = 2})) {
      b.copy(K.at(n * 64, 0), Ks);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.set(P, cast<f16>(where(col(S) + n * 64 < N, max(S, 0), 0)));
      b.gemm(P, Ks, out);
    }
    b.copy(out, O.at(m0, 0));
  }
};
PENSTOCK_KERNEL(TakenAttention);

/// A block of 1024 threads, with the warp that loads: there is no warp left that could ask.
struct TakenByAll {
  static constexpr auto signature = "X[M,N] -> Y[M]";
  void operator()(Block &b, In<i32, 2> X, Out<i32, 1> Y) const {
    auto N = X.size(1);
    auto m0 = b.grid(ceil_div(X.size(0), 62)) * 62;
    b.threads(992);
    b.prefer({.launch_control = true});
    auto xs = b.shared<i32>(62, 32);
    auto x = b.local<i32>(62, 32);
    auto sum = b.local<i32>(62), part = b.local<i32>(62);
    b.fill(sum, 0);
    for (Index n : b.pipelined(ceil_div(N, 32), {.num_stages = 3, .form = Form::WarpSpecialized})) {
      b.copy(X.at(m0, n * 32), xs);
      b.set(x, xs * 3);
      b.reduce(Sum, x, 1, part);
      b.set(sum, sum + part);
    }
    b.copy(sum, Y.at(m0));
  }
};
PENSTOCK_KERNEL(TakenByAll);

TEST(LaunchControl, MatmulsStayRight) {
  for (int64_t k : {0, 64, 192, 200, 450})
    expectSameEverywhere("TakenMatmul", {{{"M", 390}, {"N", 200}, {"K", k}}});
}

TEST(LaunchControl, BlocksHaveTheirCoordinates) {
  expectSameEverywhere("TakenSums", {{{"P", 3}, {"M", 40}, {"N", 70}},
                                     {{"P", 1}, {"M", 16}, {"N", 32}},
                                     {{"P", 0}, {"M", 16}, {"N", 32}}});
}

TEST(LaunchControl, RolesMeetWhereTheyMust) {
  for (int64_t n : {0, 64, 130, 256})
    expectSameEverywhere("TakenAttention", {{{"M", 500}, {"N", n}, {"D", 64}}});
}

TEST(LaunchControl, TheFirstWarpAsksInAFullBlock) {
  expectSameEverywhere("TakenByAll", {{{"M", 300}, {"N", 100}}, {{"M", 70}, {"N", 0}}});
  std::string plan = planOf("TakenByAll", "sm_100a");
  EXPECT_NE(plan.find("warp 0 issues launch requests"), std::string::npos) << plan;
  EXPECT_NE(compileFor("TakenByAll", gpus[1]).ptx().find(".reqntid 1024"), std::string::npos);
}

TEST(LaunchControl, BlackwellTakesBlocksOver) {
  for (const char *name : {"TakenMatmul", "TakenSums", "TakenAttention"}) {
    EXPECT_NE(compileFor(name, gpus[1]).ptx().find("clusterlaunchcontrol.try_cancel"),
              std::string::npos);
    EXPECT_EQ(compileFor(name, gpus[0]).ptx().find("clusterlaunchcontrol"), std::string::npos);
  }
  std::string plan = planOf("TakenMatmul", "sm_100a");
  EXPECT_NE(plan.find("between runs of the loop, rings stay open"), std::string::npos) << plan;
  EXPECT_NE(plan.find("warp 6 issues launch requests"), std::string::npos) << plan;
}

/// Clusters take over clusters; the last ones have blocks outside of the grid.
TEST(LaunchControl, ClustersTakeOverClusters) {
  for (const char *name : {"TakenPairs", "TakenClusters"}) {
    for (int64_t k : {0, 64, 200})
      expectSameEverywhere(name, {{{"M", 650}, {"N", 200}, {"K", k}}});
    expectSameEverywhere(name, {{{"M", 100}, {"N", 40}, {"K", 130}}});
    std::string ptx = compileFor(name, gpus[1]).ptx();
    EXPECT_NE(ptx.find("try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::"
                       "cluster::all.b128"),
              std::string::npos);
    EXPECT_NE(ptx.find("cp.async.bulk.tensor.2d.global.shared::cta"), std::string::npos);
  }
  EXPECT_NE(compileFor("TakenPairs", gpus[1]).ptx().find("tcgen05.mma.cta_group::2"),
            std::string::npos);
}

} // namespace
