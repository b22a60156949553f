//===- RolesTest.cpp - Roles that programs state --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

/// Warps of their own convert weights while others multiply.
struct ConvertedWeights {
  static constexpr auto signature = "A[M,K], B[N,K], scale[K] -> C[M,N]";
  int stages = 3;
  void operator()(Block &b, In<f16, 2> A, In<i8, 2> B, In<f32, 1> scale, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(B.size(0), 64));
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto narrow = b.shared<i8>(64, 64);
    auto factors = b.shared<f32>(64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = stages})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 64, k * 64), narrow);
      b.copy(scale.at(k * 64), factors);
      b.statement("convert", [&] { b.set(Bs, cast<f32>(narrow) * broadcast_cols(factors)); },
                  {.role = "convert"});
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 128, bn * 64));
  }
};
PENSTOCK_KERNEL(ConvertedWeights);

/// Two roles of threads between the loads and the sums, with registers of their own.
struct ThreeSteps {
  static constexpr auto signature = "X[M,N] -> Y[M]";
  void operator()(Block &b, In<f32, 2> X, Out<f32, 1> Y) const {
    auto N = X.size(1);
    auto block = b.grid(ceil_div(X.size(0), 64));
    auto Xs = b.shared<f32>(64, 32), squares = b.shared<f32>(64, 32);
    auto rows = b.shared<f32>(64);
    auto t = b.local<f32>(64, 32);
    auto partial = b.local<f32>(64), sum = b.local<f32>(64);
    b.fill(sum, 0);
    for (Index n : b.pipelined(ceil_div(N, 32), {.num_stages = 2})) {
      b.copy(X.at(block * 64, n * 32), Xs);
      b.statement("square",
                  [&] {
                    b.copy(Xs, t);
                    b.set(t, t * t);
                    b.copy(t, squares);
                  },
                  {.role = "square"});
      b.statement("rows",
                  [&] {
                    b.reduce(Sum, squares, 1, partial);
                    b.copy(partial, rows);
                  },
                  {.role = "rows"});
      b.set(sum, sum + rows);
    }
    b.copy(sum, Y.at(block * 64));
  }
};
PENSTOCK_KERNEL(ThreeSteps);

/// A stated schedule keeps its stages and order, and a group of several operations stays one
/// statement.
struct StatedSchedule {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 64), ceil_div(B.size(0), 64));
    auto As = b.shared<f16>(64, 64), Bs = b.shared<f16>(64, 64), twice = b.shared<f16>(64, 64);
    auto sums = b.shared<f16>(64, 64);
    auto columns = b.shared<f16>(64);
    auto acc = b.local<f32>(64, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.stage = {0, 0, 2, 3}, .order = {2, 3, 1, 0}})) {
      b.copy(A.at(bm * 64, k * 64), As);
      b.copy(B.at(bn * 64, k * 64), Bs);
      b.statement("twice",
                  [&] {
                    b.set(sums, Bs + transposed(Bs));
                    b.reduce(Sum, sums, 0, columns);
                    b.set(twice, Bs + Bs - broadcast_cols(columns));
                  },
                  {.role = "twice"});
      b.gemm(As, transposed(twice), acc);
    }
    b.copy(acc, C.at(bm * 64, bn * 64));
  }
};
PENSTOCK_KERNEL(StatedSchedule);

/// Sums in tensor memory are corrected by warps of their own, which get factors in shared memory.
struct Correction {
  int rows = 128;
  static constexpr auto signature = "Q[M,D], K[N,D], V[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, In<f16, 2> V, Out<f32, 2> O) const {
    auto N = K.size(0);
    auto m0 = b.grid(ceil_div(Q.size(0), rows)) * rows;
    auto Qs = b.shared<f16>(rows, 64), Ks = b.shared<f16>(64, 64), Vs = b.shared<f16>(64, 64);
    auto S = b.local<f32>(rows, 64), out = b.local<f32>(rows, 64);
    auto P = b.local<f16>(rows, 64);
    auto factor = b.shared<f32>(rows);
    auto top = b.local<f32>(rows), before = b.local<f32>(rows), now = b.local<f32>(rows);
    auto own = b.local<f32>(rows);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(top, 0);
    b.fill(out, 0);
    for (Index n : b.pipelined(ceil_div(N, 64), {.num_stages = 2})) {
      b.copy(K.at(n * 64, 0), Ks);
      b.copy(V.at(n * 64, 0), Vs);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("weights", [&] {
        b.set(before, top);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(now, min(top - before, 1.0f) + 1.0f);
        b.set(P, cast<f16>(where(col(S) + n * 64 < N, S, 0)));
        b.copy(now, factor);
      });
      b.statement("correct",
                  [&] {
                    b.copy(factor, own);
                    b.set(out, out * broadcast_rows(own));
                  },
                  {.role = "correction"});
      b.gemm(P, Vs, out);
    }
    b.copy(out, O.at(m0, 0));
  }
};

TEST(Roles, ConvertWeights) {
  for (int64_t k : {0, 64, 128, 200, 448})
    expectSameEverywhere("ConvertedWeights", {{{"M", 200}, {"N", 72}, {"K", k}}});
}

TEST(Roles, ConvertInOneStage) {
  constexpr int64_t M = 130, N = 72, K = 192;
  std::vector<f16> A;
  std::vector<int8_t> B;
  std::vector<f32> scale;
  for (int64_t i = 0; i < M * K; ++i)
    A.push_back(f16(float(i * 7 % 5 - 2)));
  for (int64_t i = 0; i < N * K; ++i)
    B.push_back(int8_t(i * 11 % 7 - 3));
  for (int64_t i = 0; i < K; ++i)
    scale.push_back(float(i % 3 + 1));
  auto run = [&](Target target) {
    std::vector<f32> C(M * N, -1);
    ConvertedWeights kernel;
    kernel.stages = 1;
    compile(kernel, target)(view(A, {M, K}), view(B, {N, K}), view(scale, {K}), view(C, {M, N}));
    return C;
  };
  std::vector<f32> expected = run(Target::interpreter());
  for (const Target &target : gpus)
    EXPECT_EQ(run(target), expected);
  EXPECT_EQ(run(Target::native()), expected);
}

TEST(Roles, PassResultsOn) {
  for (int64_t n : {0, 8, 32, 64, 100, 320})
    expectSameEverywhere("ThreeSteps", {{{"M", 72}, {"N", n}}});
}

/// Compares with the interpreter, for numbers of tiles around the number of stages.
void expectCorrected(int rows, const std::string &threads) {
  auto kernel = compile(Correction{.rows = rows}, Target::sm_100a().emulated());
  auto reference = compile(Correction{}, Target::interpreter());
  EXPECT_NE(kernel.ptx().find(".reqntid " + threads), std::string::npos);
  constexpr int64_t M = 300, D = 64;
  std::vector<f16> Q, K, V;
  for (int64_t i = 0; i < 320 * D; ++i) {
    Q.push_back(f16(float(i * 7 % 3 - 1)));
    K.push_back(f16(float(i * 5 % 3 - 1)));
    V.push_back(f16(float(i * 11 % 5 - 2)));
  }
  for (int64_t n : {0, 64, 72, 128, 192, 320})
    for (Completion completion : {Completion::Eager, Completion::Latest, Completion::Random}) {
      std::vector<f32> O(M * D, -1), expected(M * D, -1);
      auto run = [&](auto &to, std::vector<f32> &out, LaunchOptions options) {
        to.launch(options, view(Q, {M, D}), view(K, {n, D}), view(V, {n, D}), view(out, {M, D}));
      };
      run(kernel, O, {.completion = completion, .seed = 7});
      run(reference, expected, {});
      EXPECT_EQ(O, expected) << n;
    }
}

TEST(Roles, CorrectSumsInTensorMemory) {
  // 8 warps compute, 4 correct, 1 loads and 1 multiplies.
  expectCorrected(128, "448");
}

// Two warpgroups compute, and two correct, each the rows of one.
TEST(Roles, CorrectSumsOfTwoWarpgroups) {
  expectCorrected(256, "576");
  auto barriers = [](int rows) {
    std::string ptx = compile(Correction{.rows = rows}, Target::sm_100a().emulated()).ptx();
    size_t count = 0;
    for (size_t at = 0; (at = ptx.find("mbarrier.init", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_GT(barriers(256), barriers(128)); // those of one do not wait for the other
}

TEST(Roles, KeepStatedSchedules) {
  for (int64_t k : {0, 64, 128, 200, 448})
    expectSameEverywhere("StatedSchedule", {{{"M", 72}, {"N", 72}, {"K", k}}});
}

TEST(Roles, RunAheadInStagesOfTheirOwn) {
  for (const char *gpu : {"sm_90a", "sm_100a"}) {
    std::string plan = planOf("ConvertedWeights", gpu);
    EXPECT_NE(plan.find("execute role `convert`"), std::string::npos) << plan;
    EXPECT_NE(plan.find("slots Bs 2"), std::string::npos) << plan;
  }
}

/// Compiles for a GPU; there must be one error with the code of roles.
template <class Kernel> std::string refusalOf(const Kernel &kernel, Target target) {
  auto refused = try_compile(kernel, target.emulated(), {.name = "refused"});
  EXPECT_FALSE(bool(refused));
  if (refused || refused.diagnostics.empty())
    return "";
  EXPECT_EQ(refused.diagnostics.front().code, 1619u) << to_text(refused.diagnostics);
  return refused.diagnostics.front().message;
}

TEST(Roles, RegistersStayWithOneRole) {
  EXPECT_EQ(refusalOf(Correction{}, Target::sm_90a()),
            "role `correction` would need the registers of `out` (128x64 f32, local), which other "
            "warps use outside of the loop");
  auto twoRoles = [](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
    auto x = b.shared<f32>(64);
    auto t = b.local<f32>(64);
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), {.num_stages = 2})) {
      b.copy(X.at(i * 64), x);
      b.statement("double", [&] { b.set(t, x + x); }, {.role = "first"});
      b.statement("store", [&] { b.copy(t, Y.at(i * 64)); }, {.role = "second"});
    }
  };
  EXPECT_EQ(refusalOf(twoRoles, Target::sm_100a()),
            "roles `first` and `second` use the same tiles in registers");
}

TEST(Roles, AreThoseOfPipelinedLoops) {
  auto outside = [](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
    auto x = b.shared<f32>(64);
    b.copy(X.at(0), x);
    b.statement("double", [&] { b.set(x, x + x); }, {.role = "first"});
    b.copy(x, Y.at(0));
  };
  auto inside = [](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
    auto x = b.shared<f32>(64);
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), {.num_stages = 2})) {
      b.copy(X.at(i * 64), x);
      for ([[maybe_unused]] Index j : b.range(2))
        b.statement("double", [&] { b.set(x, x + x); }, {.role = "first"});
      b.copy(x, Y.at(i * 64));
    }
  };
  auto skewed = [](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
    auto x = b.shared<f32>(64);
    PipelineOptions options{.num_stages = 2, .form = Form::Skewed};
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), options)) {
      b.copy(X.at(i * 64), x);
      b.statement("double", [&] { b.set(x, x + x); }, {.role = "first"});
      b.copy(x, Y.at(i * 64));
    }
  };
  const char *part = "a role is stated for what is not a whole statement of a pipelined loop";
  for (const Target &target : {Target::sm_90a(), Target::sm_100a()}) {
    EXPECT_EQ(refusalOf(outside, target), part);
    EXPECT_EQ(refusalOf(inside, target), part);
    EXPECT_EQ(refusalOf(skewed, target), "a role is stated in a loop whose form is Form::Skewed");
  }
}

TEST(Roles, HaveNames) {
  auto refused = try_compile(
      [](Block &b, In<f32, 1> X) {
        auto x = b.shared<f32>(64);
        b.copy(X.at(0), x);
        b.statement("double", [&] { b.set(x, x + x); }, {.role = "two words"});
      },
      Target::native(), {.name = "named"});
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.diagnostics.front().message, "`two words` is not a name of a role");
}

/// Roles of threads that store single elements, count, and reduce over all of their warps, each in
/// scratch memory of its own.
struct ElementsInRoles {
  static constexpr auto signature = "X[M,N] -> Y[M], count[4]";
  void operator()(Block &b, In<i32, 2> X, Out<i32, 1> Y, InOut<i32, 1> count) const {
    auto block = b.grid(ceil_div(X.size(0), 32));
    auto Xs = b.shared<i32>(32, 32);
    auto a = b.shared<i32>(32), c = b.shared<i32>(32);
    auto sum = b.shared<i32>(32);
    b.fill(sum, 0);
    for (Index n : b.pipelined(ceil_div(X.size(1), 32), {.num_stages = 3})) {
      b.copy(X.at(block * 32, n * 32), Xs);
      b.statement("columns",
                  [&] {
                    b.reduce(Sum, Xs, 0, a);
                    b.atomic(Add, count.at(0), 1);
                  },
                  {.role = "columns"});
      b.statement("rows",
                  [&] {
                    b.reduce(Max, Xs, 0, c);
                    b.atomic(Add, count.at(1), 2);
                  },
                  {.role = "rows"});
      b.set(sum, sum + a * c);
    }
    b.copy(sum, Y.at(block * 32));
  }
};
PENSTOCK_KERNEL(ElementsInRoles);

TEST(Roles, HaveScratchMemoryOfTheirOwn) {
  for (int64_t n : {0, 32, 40, 96, 256})
    expectSameEverywhere("ElementsInRoles", {{{"M", 40}, {"N", n}}});
}

} // namespace
