//===- ClustersTest.cpp - Blocks that load for each other -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids are larger than their last cluster, so that blocks beyond the end load for
// others and must do nothing else.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// A matmul in clusters, which counts the blocks of its grid.
template <int Rows, int Columns, int Group = 0> struct MatmulInClusters {
  static constexpr auto signature = "A[M,K], B[N,K], count[1] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, InOut<i32, 1> count, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto rows = ceil_div(M, 128), columns = ceil_div(B.size(0), 64);
    auto [bm, bn] = Group ? b.grid(rows, columns, swizzled(Group)) : b.grid(rows, columns);
    b.prefer({.cluster = {Rows, Columns}});
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = 3})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 64, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 128, bn * 64));
    b.atomic(Add, count.at(0), 1);
  }
};
using RowPair = MatmulInClusters<2, 1>;
using ColumnPair = MatmulInClusters<1, 2>;
using Square = MatmulInClusters<2, 2>;
using FourRows = MatmulInClusters<4, 1, 2>;
PENSTOCK_KERNEL(RowPair);
PENSTOCK_KERNEL(ColumnPair);
PENSTOCK_KERNEL(Square);
PENSTOCK_KERNEL(FourRows);

/// Attention: blocks with other queries load the same keys and values. With \p Causal, their loops
/// differ.
template <bool Causal> struct AttentionInClusters {
  static constexpr auto signature = "Q[M,D], K[N,D], V[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, In<f16, 2> V, Out<f32, 2> O) const {
    auto N = K.size(0);
    auto block = b.grid(ceil_div(Q.size(0), 128));
    b.prefer({.cluster = {2}});
    auto m0 = block * 128;
    auto Qs = b.shared<f16>(128, 64), Ks = b.shared<f16>(64, 64), Vs = b.shared<f16>(64, 64);
    auto S = b.local<f32>(128, 64), out = b.local<f32>(128, 64);
    auto P = b.local<f16>(128, 64);
    auto top = b.local<f32>(128), sum = b.local<f32>(128);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(top, 0);
    b.fill(sum, 0);
    b.fill(out, 0);
    auto end = Causal ? min(ceil_div(N, 64), ceil_div(m0 + 128, 64)) : ceil_div(N, 64);
    for (Index n : b.pipelined(end, {.num_stages = 2})) {
      b.copy(K.at(n * 64, 0), Ks);
      b.copy(V.at(n * 64, 0), Vs);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("weights", [&] {
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(P, cast<f16>(where(col(S) + n * 64 < N, S, 0)));
        b.reduce(Sum, S, 1, sum, {.accumulate = true});
      });
      b.gemm(P, Vs, out);
    }
    b.set(out, out + broadcast_rows(top));
    b.copy(out, O.at(m0, 0));
  }
};
using AttentionPair = AttentionInClusters<false>;
using CausalPair = AttentionInClusters<true>;
PENSTOCK_KERNEL(AttentionPair);
PENSTOCK_KERNEL(CausalPair);

/// Threads of all blocks read what one of them has loaded.
struct ScaledPair {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f8e4m3, 2> B, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(B.size(0), 64));
    b.prefer({.cluster = {2, 1}});
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto narrow = b.shared<f8e4m3>(64, 64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = 3})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 64, k * 64), narrow);
      b.set(Bs, cast<f16>(narrow));
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 128, bn * 64));
  }
};
PENSTOCK_KERNEL(ScaledPair);

/// Two loops with rings of their own, of which the second one adds to the first one's sum.
struct TwoLoops {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(B.size(0), 64));
    b.prefer({.cluster = {2, 1}});
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (int half = 0; half < 2; ++half) {
      auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
      for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = 2 + half})) {
        b.copy(A.at(bm * 128, k * 64), As);
        b.copy(B.at(bn * 64, k * 64), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
    }
    b.copy(acc, C.at(bm * 128, bn * 64));
  }
};
PENSTOCK_KERNEL(TwoLoops);

TEST(Clusters, MatmulsAreRight) {
  for (const char *name : {"RowPair", "ColumnPair", "Square", "FourRows"})
    for (int64_t k : {0, 64, 200, 448})
      expectSameEverywhere(name, {{{"M", 260}, {"N", 72}, {"K", k}}});
}

TEST(Clusters, OneClusterAndManyAreRight) {
  for (const char *name : {"RowPair", "ColumnPair", "Square", "FourRows"})
    expectSameEverywhere(name, {{{"M", 8}, {"N", 8}, {"K", 128}},
                                {{"M", 512}, {"N", 256}, {"K", 72}},
                                {{"M", 0}, {"N", 64}, {"K", 64}}});
}

TEST(Clusters, AttentionIsRight) {
  for (const char *name : {"AttentionPair", "CausalPair"})
    for (int64_t n : {0, 64, 72, 192, 320})
      expectSameEverywhere(name, {{{"M", 300}, {"N", n}, {"D", 64}}});
}

TEST(Clusters, LoopsInARowAreRight) {
  for (int64_t k : {0, 64, 200, 448})
    expectSameEverywhere("TwoLoops", {{{"M", 300}, {"N", 72}, {"K", k}}});
}

TEST(Clusters, ThreadsThatReadAreAwaited) {
  for (int64_t k : {0, 64, 200, 448})
    expectSameEverywhere("ScaledPair", {{{"M", 260}, {"N", 72}, {"K", k}}});
  EXPECT_NE(planOf("ScaledPair", "sm_90a").find("clusters of 2 blocks"), std::string::npos);
}

TEST(Clusters, BlocksDivideWhatTheyHaveInCommon) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string rows = planOf("RowPair", gpu), square = planOf("Square", gpu);
    EXPECT_NE(rows.find("clusters of 2 blocks"), std::string::npos) << rows;
    EXPECT_NE(rows.find("copy B -> Bs: each of 2 blocks copies 32 rows to all of them"),
              std::string::npos)
        << rows;
    EXPECT_EQ(rows.find("copy A -> As: each"), std::string::npos) << rows;
    EXPECT_NE(square.find("copy A -> As: each of 2 blocks copies 64 rows"), std::string::npos);
    EXPECT_NE(square.find(" arrivals of 3 blocks"), std::string::npos) << square;
    std::string attention = planOf("AttentionPair", gpu);
    for (const char *copy : {"copy K -> Ks: each of 2", "copy V -> Vs: each of 2"})
      EXPECT_NE(attention.find(copy), std::string::npos) << attention;
  }
}

TEST(Clusters, ReasonsAreTold) {
  std::string causal = planOf("CausalPair", "sm_90a");
  EXPECT_NE(causal.find("no clusters: a loop, or a condition around it, differs"),
            std::string::npos)
      << causal;
}

TEST(Clusters, WrongOnesAreRefused) {
  struct TooMany {
    void operator()(Block &b, In<f32, 1> X) const {
      (void)b.grid(X.size(0));
      b.prefer({.cluster = {16}});
    }
  };
  struct OtherRank {
    void operator()(Block &b, In<f32, 1> X) const {
      (void)b.grid(X.size(0));
      b.prefer({.cluster = {2, 1}});
    }
  };
  struct Early {
    void operator()(Block &b, In<f32, 1> X) const {
      b.prefer({.cluster = {2}});
      (void)b.grid(X.size(0));
    }
  };
  auto expectRefused = [](const auto &kernel) {
    auto refused = try_compile(kernel, Target::native());
    ASSERT_FALSE(bool(refused));
    EXPECT_EQ(refused.diagnostics.front().code, 1109u) << to_text(refused.diagnostics);
  };
  expectRefused(TooMany{});
  expectRefused(OtherRank{});
  expectRefused(Early{});
}

// The error names the line of `prefer`, and the grid can be used after it.
TEST(Clusters, ErrorsNameTheCall) {
  unsigned line = 0;
  auto refused = try_compile(
      [&](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
        auto i = b.grid(X.size(0)) * 64;
        line = __LINE__ + 1;
        b.prefer({.cluster = {0}});
        auto t = b.local<f32>(64);
        b.copy(X.at(i), t);
        b.copy(t, Y.at(i));
      },
      Target::native(), {.name = "wrong"});
  ASSERT_EQ(refused.diagnostics.size(), 1u) << to_text(refused.diagnostics);
  EXPECT_EQ(refused.diagnostics.front().code, 1109u);
  EXPECT_EQ(unsigned(refused.diagnostics.front().location.line), line);
}

TEST(Clusters, ExplicitKernelsStateThem) {
  auto refused = try_compile(
      [](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
        auto i = b.grid(X.size(0)) * 64;
        b.prefer({.cluster = {2}});
        b.threads(64);
        auto t = b.local<f32>(64);
        b.copy(X.at(i), t);
        b.sync();
        b.copy(t, Y.at(i));
      },
      Target::sm_90a().emulated(), {.name = "explicit"});
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.diagnostics.front().code, 1109u) << to_text(refused.diagnostics);
}

} // namespace
