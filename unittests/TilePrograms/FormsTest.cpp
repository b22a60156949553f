//===- FormsTest.cpp - Pipelined loops that several roles share -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which form a loop gets, stated or not, and what lies around divided loops: loops and
// conditions that every role follows, values that the compute warps carry past one.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// A matmul with a bias, whose schedule and form are stated.
template <Form Stated, bool Uneven> struct MatmulOfForm {
  static constexpr auto signature = "A[M,K], B[N,K], bias[N] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<f32, 1> bias, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(B.size(0), 64));
    Index m0 = bm * 128, n0 = bn * 64;
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    auto added = b.local<f32>(64);
    b.fill(acc, 0);
    PipelineOptions options;
    if (Uneven)
      options = {.stage = {0, 1, 2}, .order = {1, 0, 2}, .form = Stated};
    else
      options = {.num_stages = 3, .form = Stated};
    for (Index k : b.pipelined(ceil_div(K, 64), options)) {
      b.copy(A.at(m0, k * 64), As);
      b.copy(B.at(n0, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(bias.at(n0), added);
    b.set(acc, acc + broadcast_cols(added));
    b.copy(acc, C.at(m0, n0));
  }
};
using MatmulAutomatic = MatmulOfForm<Form::Automatic, false>;
using MatmulSkewed = MatmulOfForm<Form::Skewed, false>;
using MatmulUneven = MatmulOfForm<Form::WarpSpecialized, true>;

/// Sums of rows: no product, but a role that loads if that is stated.
struct RowSumsLoaded {
  static constexpr auto signature = "X[M,N] -> Y[M]";
  void operator()(Block &b, In<f32, 2> X, Out<f32, 1> Y) const {
    auto m0 = b.grid(ceil_div(X.size(0), 16)) * 16;
    auto Xs = b.shared<f32>(16, 32);
    auto sum = b.local<f32>(16);
    b.fill(sum, 0);
    for (Index n :
         b.pipelined(ceil_div(X.size(1), 32), {.num_stages = 2, .form = Form::WarpSpecialized})) {
      b.copy(X.at(m0, n * 32), Xs);
      b.reduce(Sum, Xs, 1, sum, {.accumulate = true});
    }
    b.copy(sum, Y.at(m0));
  }
};

/// Several tiles for each block, of a depth that a tensor says, skipped where that is 0: every
/// role follows the loop, the condition and the scalar.
struct RaggedTiles {
  static constexpr auto signature = "A[M,K], B[N,K], depth[T] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, In<i32, 1> depth, Out<f32, 2> C) const {
    auto N = B.size(0);
    auto m0 = b.grid(ceil_div(A.size(0), 64)) * 64;
    auto As = b.shared<f16>(64, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(64, 64);
    for (Index n : b.range(ceil_div(N, 64))) {
      Index steps = cast<index_t>(depth.load(n));
      b.when(steps > 0, [&] {
        b.fill(acc, 1);
        for (Index k : b.pipelined(min(steps, ceil_div(A.size(1), 64)), {.num_stages = 2})) {
          b.copy(A.at(m0, k * 64), As);
          b.copy(B.at(n * 64, k * 64), Bs);
          b.gemm(As, transposed(Bs), acc);
        }
        b.copy(acc, C.at(m0, n * 64));
      });
    }
  }
};

/// Attention whose first product is one iteration ahead, stated or not: the tensor core works
/// under softmax.
template <bool Stated> struct Attention {
  static constexpr auto signature = "Q[M,D], K[N,D], V[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, In<f16, 2> V, Out<f32, 2> O) const {
    auto N = K.size(0);
    auto m0 = b.grid(ceil_div(Q.size(0), 128)) * 128;
    auto Qs = b.shared<f16>(128, 64), Ks = b.shared<f16>(64, 64), Vs = b.shared<f16>(64, 64);
    auto S = b.local<f32>(128, 64), out = b.local<f32>(128, 64);
    auto P = b.local<f16>(128, 64);
    auto top = b.local<f32>(128), old = b.local<f32>(128), sum = b.local<f32>(128);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(top, -1e30f);
    b.fill(sum, 0);
    b.fill(out, 0);
    PipelineOptions ahead{.num_stages = 2};
    if (Stated)
      ahead = {.stage = {0, 0, 1, 2, 2}, .order = {0, 1, 2, 3, 4}, .form = Form::WarpSpecialized};
    for (Index n : b.pipelined(ceil_div(N, 64), ahead)) {
      b.copy(K.at(n * 64, 0), Ks);
      b.copy(V.at(n * 64, 0), Vs);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("softmax", [&] {
        b.set(S, where(col(S) + n * 64 < N, S, -infinity));
        b.copy(top, old);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(S, exp2(S - broadcast_rows(top)));
        b.set(old, exp2(old - top));
        b.set(sum, sum * old);
        b.reduce(Sum, S, 1, sum, {.accumulate = true});
        b.copy(S, P);
        b.set(out, out * broadcast_rows(old));
      });
      b.gemm(P, Vs, out);
    }
    b.set(out, where(broadcast_rows(sum) > 0, out / broadcast_rows(sum), 0));
    b.copy(out, O.at(m0, 0));
  }
};

using AttentionAhead = Attention<true>;
using AttentionInferred = Attention<false>;
PENSTOCK_KERNEL(AttentionAhead);
PENSTOCK_KERNEL(AttentionInferred);
PENSTOCK_KERNEL(MatmulAutomatic);
PENSTOCK_KERNEL(MatmulSkewed);
PENSTOCK_KERNEL(MatmulUneven);
PENSTOCK_KERNEL(RowSumsLoaded);
PENSTOCK_KERNEL(RaggedTiles);

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Forms, AreWrittenAsStated) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    bool tensor = std::string(gpu) == "sm_100a";
    std::string automatic = planOf("MatmulAutomatic", gpu);
    EXPECT_TRUE(has(automatic, "role load")) << automatic;
    EXPECT_TRUE(has(automatic, tensor ? "role mma" : "role compute")) << automatic;
    std::string skewed = planOf("MatmulSkewed", gpu);
    EXPECT_TRUE(has(skewed, "role all")) << skewed;
    EXPECT_FALSE(has(skewed, "role load")) << skewed;
    // Each buffer keeps the depth that its stages ask for.
    std::string uneven = planOf("MatmulUneven", gpu);
    EXPECT_TRUE(has(uneven, "role load")) << uneven;
    EXPECT_TRUE(has(uneven, "slots As 3") && has(uneven, "slots Bs 2")) << uneven;
    EXPECT_TRUE(has(planOf("RowSumsLoaded", gpu), "role load"));
    EXPECT_TRUE(has(planOf("RaggedTiles", gpu, /*mayWarn=*/true), "role load"));
  }
}

TEST(Forms, AreRight) {
  for (const char *name : {"MatmulAutomatic", "MatmulSkewed", "MatmulUneven"})
    for (int64_t k : {0, 1, 64, 72, 128, 192, 320})
      expectSameEverywhere(name, {{{"M", 130}, {"N", 72}, {"K", k}}});
  for (int64_t n : {0, 4, 32, 36, 64, 160})
    expectSameEverywhere("RowSumsLoaded", {{{"M", 20}, {"N", n}}});
}

TEST(Forms, ProductsOneAheadOfSoftmax) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string plan = planOf("AttentionAhead", gpu);
    bool tensor = std::string(gpu) == "sm_100a";
    EXPECT_TRUE(has(plan, "role load") && has(plan, "role compute")) << plan;
    EXPECT_EQ(has(plan, "role mma"), tensor) << plan;
    // Of the scores, in tensor memory or registers, there are two versions.
    EXPECT_TRUE(has(plan, "slots S 2")) << plan;
    EXPECT_TRUE(has(plan, "[1] " + std::string(tensor ? "leader " : "") + "issue gemm Qs")) << plan;
  }
  for (int64_t n : {0, 8, 64, 72, 128, 192, 328})
    expectSameEverywhere("AttentionAhead", {{{"M", 130}, {"N", n}, {"D", 64}}}, 1e-3);
}

/// The same without a word of the user: on Blackwell, scores run ahead of a loop that asks for
/// copies in flight, and only what needs the last product waits for it.
TEST(Forms, ScoresRunAheadOfSoftmax) {
  std::string plan = planOf("AttentionInferred", "sm_100a");
  EXPECT_TRUE(has(plan, "slots S 2")) << plan;
  size_t max = plan.find("issue reduce S -> top"), scale = plan.find("issue set out"),
         wait = plan.find("] wait done gemm P, Vs -> out distance 1");
  ASSERT_NE(max, std::string::npos) << plan;
  ASSERT_NE(wait, std::string::npos) << plan;
  EXPECT_TRUE(max < wait && wait < scale) << plan;
  EXPECT_TRUE(has(plan, "[2] leader issue gemm Qs")) << plan;
  EXPECT_TRUE(has(plan, "[3] leader issue gemm P")) << plan;
  for (int64_t n : {0, 8, 64, 72, 128, 192, 328})
    expectSameEverywhere("AttentionInferred", {{{"M", 130}, {"N", n}, {"D", 64}}}, 1e-3);
}

TEST(Forms, RolesFollowControlFlow) {
  expectSameEverywhere("RaggedTiles", {{{"M", 64}, {"N", 200}, {"K", 136}, {"T", 4}},
                                       {{"M", 65}, {"N", 64}, {"K", 8}, {"T", 1}},
                                       {{"M", 64}, {"N", 128}, {"K", 0}, {"T", 2}}});
}

/// Other targets have nothing to divide, or nothing to wait at.
TEST(Forms, AreAMatterOfGpus) {
  RowSumsLoaded kernel;
  EXPECT_TRUE(bool(try_compile(kernel, Target::native())));
  auto old = try_compile(kernel, Target::sm_80().emulated());
  ASSERT_FALSE(bool(old));
  EXPECT_EQ(old.diagnostics.front().code, 1618u) << to_text(old.diagnostics);
}

} // namespace
