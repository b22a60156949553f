//===- OptimalTest.cpp - Loops whose schedule the exact solver finds ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

template <Schedule Asked> struct MatmulScheduled {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(B.size(0), 64));
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(128, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(K, 64), {.num_stages = 3, .schedule = Asked})) {
      b.copy(A.at(bm * 128, k * 64), As);
      b.copy(B.at(bn * 64, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 128, bn * 64));
  }
};

/// Attention whose rescaling of the result is a statement of its own.
template <Schedule Asked> struct AttentionScheduled {
  static constexpr auto signature = "Q[M,D], K[N,D], V[N,D] -> O[M,D]";
  void operator()(Block &b, In<f16, 2> Q, In<f16, 2> K, In<f16, 2> V, Out<f32, 2> O) const {
    auto N = K.size(0);
    auto m0 = b.grid(ceil_div(Q.size(0), 128)) * 128;
    auto Qs = b.shared<f16>(128, 64), Ks = b.shared<f16>(64, 64), Vs = b.shared<f16>(64, 64);
    auto S = b.local<f32>(128, 64), out = b.local<f32>(128, 64);
    auto P = b.local<f16>(128, 64);
    auto top = b.local<f32>(128), old = b.local<f32>(128), sum = b.local<f32>(128);
    auto part = b.local<f32>(128);
    b.copy(Q.at(m0, 0), Qs);
    b.fill(out, 0);
    b.fill(sum, 0);
    b.fill(top, -1e30f);
    for (Index n : b.pipelined(ceil_div(N, 64), {.num_stages = 2, .schedule = Asked})) {
      b.copy(K.at(n * 64, 0), Ks);
      b.copy(V.at(n * 64, 0), Vs);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.statement("softmax", [&] {
        b.set(S, where(col(S) + n * 64 < N, S, -1e30f));
        b.copy(top, old);
        b.reduce(Max, S, 1, top, {.accumulate = true});
        b.set(old, exp2(old - top));
        b.set(S, exp2(S - broadcast_rows(top)));
        b.reduce(Sum, S, 1, part);
        b.set(sum, sum * old + part);
        b.set(P, S);
      });
      b.statement("rescale", [&] { b.set(out, out * broadcast_rows(old)); });
      b.gemm(P, Vs, out);
    }
    b.set(out, where(broadcast_rows(sum) > 0, out / broadcast_rows(sum), 0));
    b.copy(out, O.at(m0, 0));
  }
};

using MatmulOptimal = MatmulScheduled<Schedule::Optimal>;
using MatmulByRule = MatmulScheduled<Schedule::Inferred>;
using AttentionOptimal = AttentionScheduled<Schedule::Optimal>;
using AttentionByRule = AttentionScheduled<Schedule::Inferred>;
PENSTOCK_KERNEL(MatmulOptimal);
PENSTOCK_KERNEL(MatmulByRule);
PENSTOCK_KERNEL(AttentionOptimal);
PENSTOCK_KERNEL(AttentionByRule);

TEST(Optimal, ProgramsAreRight) {
  for (int64_t k : {0, 1, 64, 72, 128, 192, 320, 640})
    expectSameEverywhere("MatmulOptimal", {{{"M", 130}, {"N", 72}, {"K", k}}});
  for (int64_t n : {0, 8, 64, 72, 128, 192, 328})
    expectSameEverywhere("AttentionOptimal", {{{"M", 130}, {"N", n}, {"D", 64}}}, 1e-3);
}

TEST(Optimal, ExplainShowsTheProof) {
  for (const char *gpu : {"sm_90a", "sm_100a"})
    for (const char *name : {"MatmulOptimal", "AttentionOptimal"}) {
      std::vector<Diagnostic> diagnostics;
      std::string text = explain_registered(name, gpu, {}, diagnostics);
      EXPECT_TRUE(diagnostics.empty()) << to_text(diagnostics);
      EXPECT_NE(text.find("exact solver: no schedule takes fewer than "), std::string::npos)
          << text;
    }
}

TEST(Optimal, TheSolverNeedsTime) {
  struct Hasty {
    void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
      auto x = b.shared<f32>(64);
      for (Index i : b.pipelined(ceil_div(X.size(0), 64),
                                 {.schedule = Schedule::Optimal, .solver_seconds = 0})) {
        b.copy(X.at(i * 64), x);
        b.copy(x, Y.at(i * 64));
      }
    }
  };
  auto refused = try_compile(Hasty{}, Target::native());
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.diagnostics.front().code, 1713u) << to_text(refused.diagnostics);
}

} // namespace
