//===- PreferencesTest.cpp - Preferences that kernels cannot have ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A preference is honored, or dropped with a reason that `explain` prints. It never makes a
// program fail to compile, and never changes its results.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

constexpr int64_t size = 128, depth = 64;

/// A matmul whose form does not go with all preferences.
enum Form {
  AccumulatorOfOnes,
  AccumulatorFromC,
  LoopUnderCondition,
  TwoLoops,
  LoopInRange,
  WaitsForPrevious,
  StatedSchedule,
  ShortLoops
};

template <Form What, bool Pair, bool LaunchControl, int Rows, int Columns> struct Preferring {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, InOut<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, size), ceil_div(B.size(0), size));
    b.prefer({.cluster = {Rows, Columns}, .pair = Pair, .launch_control = LaunchControl});
    auto As = b.shared<f16>(size, depth), Bs = b.shared<f16>(size, depth);
    auto acc = b.local<f32>(size, size);
    if (What == WaitsForPrevious)
      b.wait_for_previous();
    if (What == AccumulatorFromC)
      b.copy(C.at(bm * size, bn * size), acc);
    else
      b.fill(acc, What == AccumulatorOfOnes ? 1 : 0);
    Index trips = ceil_div(K, depth);
    PipelineOptions schedule{.num_stages = 3};
    if (What == StatedSchedule)
      schedule = {.stage = {0, 1, 2}, .order = {2, 1, 0}, .form = penstock::Form::WarpSpecialized};
    auto loop = [&] {
      for (Index k : b.pipelined(What == ShortLoops ? min(trips, 2) : trips, schedule)) {
        b.copy(A.at(bm * size, k * depth), As);
        b.copy(B.at(bn * size, k * depth), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
    };
    switch (What) {
    case LoopUnderCondition:
      b.when(bm != bn, loop);
      break;
    case TwoLoops:
      loop();
      loop();
      break;
    case LoopInRange:
      for ([[maybe_unused]] Index round : b.range(2)) {
        loop();
        b.set(acc, acc + 1.0f);
      }
      break;
    default:
      loop();
    }
    if (What == WaitsForPrevious)
      b.launch_dependents();
    b.copy(acc, C.at(bm * size, bn * size));
  }
};

template <class Kernel> void expectRight(const char *name) {
  SCOPED_TRACE(name);
  for (const Target &gpu : gpus) {
    auto compiled = try_compile(Kernel{}, gpu, {.name = name});
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    auto reference = compile(Kernel{}, Target::interpreter(), {.name = name});
    constexpr int64_t m = 300, n = 200, k = 136;
    std::vector<f16> a(m * k), b(n * k);
    std::vector<f32> start(m * n);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = f16(float(i % 5) - 2);
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = f16(float(i % 7) - 3);
    for (size_t i = 0; i < start.size(); ++i)
      start[i] = float(i % 3);
    std::vector<f32> expected = start;
    reference(view(a, {m, k}), view(b, {n, k}), view(expected, {m, n}));
    for (Completion completion : {Completion::Eager, Completion::Latest}) {
      std::vector<f32> got = start;
      auto found = compiled.kernel.try_launch({.completion = completion}, view(a, {m, k}),
                                              view(b, {n, k}), view(got, {m, n}));
      EXPECT_TRUE(found.empty()) << to_text(found);
      EXPECT_EQ(got, expected);
    }
  }
}

template <Form What> void expectRightWithAll(const char *name) {
  expectRight<Preferring<What, false, true, 1, 1>>(name);
  expectRight<Preferring<What, true, false, 2, 1>>(name);
  expectRight<Preferring<What, true, true, 2, 1>>(name);
  expectRight<Preferring<What, false, false, 2, 1>>(name);
  expectRight<Preferring<What, false, true, 1, 2>>(name);
}

TEST(Preferences, OfAccumulators) {
  expectRightWithAll<AccumulatorOfOnes>("ones");
  expectRightWithAll<AccumulatorFromC>("from_c");
}
TEST(Preferences, OfLoopsInControlFlow) {
  expectRightWithAll<LoopUnderCondition>("condition");
  expectRightWithAll<LoopInRange>("range");
}
TEST(Preferences, OfSeveralLoops) { expectRightWithAll<TwoLoops>("two"); }
TEST(Preferences, OfOverlappingLaunches) { expectRightWithAll<WaitsForPrevious>("waits"); }
TEST(Preferences, OfStatedSchedules) { expectRightWithAll<StatedSchedule>("stated"); }
TEST(Preferences, OfUniformTripCounts) { expectRightWithAll<ShortLoops>("short"); }

using PairFromOnes = Preferring<AccumulatorOfOnes, true, false, 2, 1>;
using ControlledFromC = Preferring<AccumulatorFromC, false, true, 1, 1>;
PENSTOCK_KERNEL(PairFromOnes);
PENSTOCK_KERNEL(ControlledFromC);

TEST(Preferences, ReasonsAreExplained) {
  std::string plan = planOf("PairFromOnes", "sm_100a");
  EXPECT_NE(plan.find("no pairs: threads write the accumulator"), std::string::npos) << plan;
  EXPECT_NE(plan.find("clusters of 2 blocks"), std::string::npos) << plan;
  std::string other = planOf("ControlledFromC", "sm_100a");
  EXPECT_NE(other.find("no launch control: "), std::string::npos) << other;
}

/// A program that is wrong without preferences is rejected for its own reason.
TEST(Preferences, DoNotHideErrors) {
  auto rejected = try_compile(
      [](Block &b, In<f16, 2> A, Out<f16, 2> C) {
        auto x = b.grid(ceil_div(A.size(0), 128));
        b.prefer({.cluster = {2}, .launch_control = true});
        auto S = b.shared<f16>(128, 4096);
        b.copy(A.at(x * 128, 0), S);
        b.copy(S, C.at(x * 128, 0));
      },
      Target::sm_100a(), {.name = "large"});
  ASSERT_FALSE(bool(rejected));
  EXPECT_NE(rejected.diagnostics.front().message.find("shared memory"), std::string::npos)
      << to_text(rejected.diagnostics);
}

} // namespace
