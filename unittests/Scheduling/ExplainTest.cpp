//===- ExplainTest.cpp - What explain says about known loops --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Explain.h"
#include "Kernels.h"
#include "Scheduling/Schedule/Infer.h"
#include "gmock/gmock.h"

using namespace penstock;
using namespace penstock::sched;
using testing::HasSubstr;

namespace {

Problem loadAndUse(int64_t capacity) {
  Problem p = parseOne(R"(loop l {
  at "kernel.cpp" 18
  buffer A global
  buffer S shared bytes 1000
  buffer G global
  statement load copy async reads A[k] writes S engine tma busy 10 latency 100
  statement use compute reads S writes G[k] engine cuda busy 40 latency 40
})")
                  .problem;
  p.capacity[size_t(Space::Shared)] = capacity;
  return p;
}

TEST(Explain, BoundByTheSlotUntilTheEngineIsFull) {
  Problem p = loadAndUse(10000);
  // Load and use of a slot take 140 cycles together, the cores 40: with three
  // versions the slots decide, with four the cores do.
  Explanation three = explain(p, *infer(p, 3).schedule);
  EXPECT_EQ(three.interval, Rational::of(140, 3));
  EXPECT_EQ(three.circleRatio, Rational::of(140, 3));
  EXPECT_EQ(three.circleIterations, 3);
  EXPECT_EQ(three.busiestEngine, "cuda");
  EXPECT_EQ(three.busiestCycles, 40);
  EXPECT_THAT(three.boundBy, HasSubstr("dependence cycle over 3"));
  ASSERT_FALSE(three.deeper.empty());
  EXPECT_TRUE(three.deeper[0].fits);

  Explanation four = explain(p, *infer(p, 4).schedule);
  EXPECT_EQ(four.interval, (Rational{40, 1}));
  EXPECT_THAT(four.boundBy, HasSubstr("bound by the cuda engine: 40 of 40 cycles"));
  for (const DeeperPlan &d : four.deeper)
    EXPECT_EQ(d.interval, (Rational{40, 1}));
  EXPECT_THAT(renderExplanation(four), HasSubstr("would fit and gain nothing"));
}

TEST(Explain, SaysWhatDoesNotFit) {
  Problem p = loadAndUse(3500);
  Explanation e = explain(p, *infer(p, 3).schedule);
  ASSERT_FALSE(e.deeper.empty());
  EXPECT_FALSE(e.deeper[0].fits);
  EXPECT_EQ(e.deeper[0].missing, 500);
  ASSERT_EQ(e.spaces.size(), 1u);
  EXPECT_EQ(e.spaces[0].used, 3000);
  EXPECT_EQ(e.spaces[0].capacity, 3500);
}

TEST(Explain, StatementsAndBuffers) {
  Problem p = gemmProblem(*hw::findArchitecture("sm_90a"));
  Explanation e = explain(p, *infer(p, 3).schedule);
  ASSERT_EQ(e.statements.size(), 3u);
  EXPECT_EQ(e.statements[2].stage, 2);
  EXPECT_EQ(e.statements[2].order, 2);
  EXPECT_EQ(e.statements[0].completes, "before `gemm` of k");
  EXPECT_EQ(e.statements[2].completes, "before `copyA` of k+3");
  ASSERT_EQ(e.buffers.size(), 3u);
  EXPECT_EQ(e.buffers[0].versions, 3u);
  EXPECT_EQ(e.buffers[0].bytes, 16384);
  EXPECT_THAT(e.buffers[0].why, HasSubstr("`gemm`"));
  EXPECT_EQ(e.buffers[2].versions, 1u);
  EXPECT_THAT(e.buffers[2].why, HasSubstr("`gemm` reads acc"));
  ASSERT_EQ(e.spaces.size(), 1u);
  EXPECT_EQ(e.spaces[0].used, 6 * 16384);
}

TEST(Explain, Text) {
  Problem p = loadAndUse(3500);
  EXPECT_EQ(renderExplanation(explain(p, *infer(p, 3).schedule)),
            "loop l kernel.cpp:18  3 stages\n"
            "  #  statement  stage  order  engine    cycles       completes\n"
            "  0  load       0      0      tma       10 / 100     before `use` of k\n"
            "  1  use        2      1      cuda      40 / 40      at once\n"
            "  buffer S: 3 versions x 1000 bytes of shared memory; `use` of k must "
            "end before `load` of k+3 reuses the slot\n"
            "  shared memory: 3000 bytes of 3500 bytes\n"
            "  bound by a dependence cycle over 3 iterations: 46.7 cycles per "
            "iteration (load -> load done -> use)\n"
            "  one more version of S does not fit: 500 bytes of shared memory are "
            "missing\n"
            "  one more stage does not fit: 500 bytes of shared memory are "
            "missing\n");
}

TEST(Explain, WithoutTimesThereIsNoInterval) {
  Problem p = parseOne(R"(loop l {
  buffer acc local
  statement a compute reads acc writes acc
})")
                  .problem;
  Explanation e = explain(p, identitySchedule(p));
  EXPECT_FALSE(e.interval);
  EXPECT_TRUE(e.boundBy.empty());
  EXPECT_TRUE(e.deeper.empty());
}

} // namespace
