//===- OptimalTest.cpp - Schedules of the exact solver --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Optimal.h"
#include "Diagnostics/Codes.h"
#include "Kernels.h"
#include "RandomLoops.h"
#include "Scheduling/Problem/Annotations.h"
#include "Scheduling/Schedule/Predict.h"

#include <gtest/gtest.h>

using namespace penstock;
using namespace penstock::sched;

namespace {

constexpr int64_t enoughMilliseconds = 60000;

Rational intervalOf(const Problem &problem, const Schedule &schedule) {
  return predictedInterval(problem, schedule, oneRole(problem));
}

void expectNotWorse(const Problem &problem, int64_t numStages) {
  OptimalSchedule optimal =
      optimalSchedule(problem, {.numStages = numStages, .milliseconds = enoughMilliseconds});
  ASSERT_TRUE(optimal.schedule) << render(optimal.diagnostics);
  EXPECT_TRUE(verifySchedule(optimal.problem, *optimal.schedule).legal());
  Inferred inferred = infer(problem, numStages);
  if (inferred.schedule)
    EXPECT_LE(intervalOf(optimal.problem, *optimal.schedule),
              intervalOf(problem, *inferred.schedule));
  // The model runs the solution as fast as promised: an issue takes no cycle in it.
  EXPECT_LE(intervalOf(optimal.problem, *optimal.schedule), (Rational{optimal.provenInterval, 1}))
      << intervalOf(optimal.problem, *optimal.schedule).str() << " of " << optimal.provenInterval;
}

#define NEEDS_SOLVER()                                                                             \
  if (!exactSolverBuilt())                                                                         \
  GTEST_SKIP() << "this build has no exact solver (Z3 was not found)"

TEST(Optimal, MatmulIsNeverWorseThanInferred) {
  NEEDS_SOLVER();
  for (const char *name : {"sm_90a", "sm_100a"})
    for (int64_t stages : {1, 2, 3, 4})
      expectNotWorse(gemmProblem(*hw::findArchitecture(name)), stages);
}

/// Attention whose products are asynchronous, with registers for a second tile of weights.
Problem asynchronousAttention(bool ownRescale) {
  Problem p = attentionProblem(*hw::findArchitecture("sm_90a"), ownRescale);
  p.buffers[p.findBuffer("S")].bytes = 128 * 128 * 4;
  p.buffers[p.findBuffer("P")].bytes = 128 * 128 * 2;
  p.capacity[size_t(Space::Local)] = 4 * 128 * 128 * 2;
  return p;
}

TEST(Optimal, AttentionOverlapsSoftmaxWithAProduct) {
  NEEDS_SOLVER();
  Problem p = asynchronousAttention(true);
  expectNotWorse(p, 2);
  OptimalSchedule optimal =
      optimalSchedule(p, {.numStages = 2, .milliseconds = enoughMilliseconds});
  ASSERT_TRUE(optimal.schedule);
  Inferred inferred = infer(p, 2);
  ASSERT_TRUE(inferred.schedule);
  Rational fast = intervalOf(optimal.problem, *optimal.schedule);
  Rational plain = intervalOf(p, *inferred.schedule);
  std::cout << "optimal " << fast.str() << ", inferred " << plain.str() << "\n";
  EXPECT_LT(fast, plain);
}

TEST(Optimal, RandomLoopsAreNeverWorseThanInferred) {
  NEEDS_SOLVER();
  sched::test::RandomLoops random(7);
  int solved = 0, better = 0, replaced = 0;
  for (int i = 0; i < 300; ++i) {
    Problem p = random.instance(5).problem;
    for (Statement &s : p.statements) {
      s.engine = !s.async ? "threads" : random.chance(50) ? "a" : "b";
      s.busy = random.pick(1, 20);
      s.latency = s.busy + random.pick(0, 60);
    }
    if (!checkProblem(p).empty() || !moduloProblem(p).problem ||
        !verifySchedule(p, identitySchedule(p)).legal())
      continue; // waits, commits and the like, and versions that no schedule can have
    int64_t stages = random.pick(1, 4);
    expectNotWorse(p, stages);
    Inferred inferred = infer(p, stages);
    OptimalSchedule optimal =
        optimalSchedule(p, {.numStages = stages, .milliseconds = enoughMilliseconds});
    ++solved;
    better += inferred.schedule && optimal.schedule &&
              intervalOf(optimal.problem, *optimal.schedule) < intervalOf(p, *inferred.schedule);
    if (optimal.inferredStages) { // and says so
      ++replaced;
      Inferred taken = infer(p, optimal.inferredStages);
      ASSERT_TRUE(taken.schedule && optimal.schedule);
      EXPECT_EQ(optimal.schedule->stage, taken.schedule->stage);
      EXPECT_EQ(optimal.schedule->order, taken.schedule->order);
    }
  }
  EXPECT_GT(replaced, 0);
  EXPECT_LT(replaced, solved);
  EXPECT_GT(solved, 50);
  EXPECT_GT(better, 0);
}

TEST(Optimal, ARunOutOfTimeIsAnError) {
  NEEDS_SOLVER();
  OptimalSchedule optimal = optimalSchedule(asynchronousAttention(true), {.milliseconds = 0});
  EXPECT_FALSE(optimal.schedule);
  ASSERT_EQ(optimal.diagnostics.size(), 1u);
  EXPECT_EQ(optimal.diagnostics[0].code, unsigned(SolverTimeLimit));
  EXPECT_EQ(optimal.diagnostics[0].severity, Severity::Error);
}

TEST(Optimal, ExplicitWaitsAreRefused) {
  Problem p = parseOne(R"(loop waits {
  buffer A global
  buffer As shared bytes 64
  statement copy copy async reads A[k] writes As
  statement wait wait awaits copy
  statement use compute reads As
})")
                  .problem;
  LoopAnnotations annotations;
  annotations.solverSeconds = 1;
  PipelinedLoop resolved = resolve(p, annotations);
  EXPECT_FALSE(resolved.schedule);
  ASSERT_EQ(resolved.diagnostics.size(), 1u);
  EXPECT_EQ(resolved.diagnostics[0].code, unsigned(NoModuloSchedule));
}

} // namespace
