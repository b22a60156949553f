//===- PredictTest.cpp - Predicted executions, and attention --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/PredictedTimeline.h"
#include "Kernels.h"
#include "Scheduling/Schedule/Infer.h"

#include <chrono>
#include <iostream>

using namespace penstock;
using namespace penstock::sched;

namespace {

const hw::Architecture &hopper() { return *hw::findArchitecture("sm_90a"); }

const draw::Slice *find(const draw::Timeline &t, const std::string &name, int64_t k) {
  for (const draw::Slice &s : t.slices)
    if (s.kind == draw::Slice::Kind::Work && s.name == name && s.iteration == k)
      return &s;
  return nullptr;
}

bool overlap(const draw::Slice &a, const draw::Slice &b) {
  return a.start < b.end && b.start < a.end;
}

/// Every slice against the rules of the model, computed here from the problem.
void expectSound(const Problem &p, const draw::Timeline &t) {
  for (const draw::Slice &a : t.slices) {
    EXPECT_LT(a.start, a.end);
    for (const draw::Slice &b : t.slices)
      if (&a != &b && a.row == b.row && a.kind == draw::Slice::Kind::Work &&
          b.kind == draw::Slice::Kind::Work)
        EXPECT_FALSE(overlap(a, b)) << a.name << " and " << b.name;
  }
}

TEST(Predict, SequentialLoopTakesTheSumOfItsLatencies) {
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer S shared
  buffer G global
  statement load copy reads A[k] writes S engine tma busy 10 latency 100
  statement use compute reads S writes G[k] engine cuda busy 30 latency 40
})");
  Schedule identity = identitySchedule(i.problem);
  EXPECT_EQ(predictedInterval(i.problem, identity, oneRole(i.problem)), (Rational{140, 1}));
}

TEST(Predict, PipelinedLoopIsBoundByItsVersionsThenByItsEngine) {
  // An asynchronous load of 100 cycles feeds a use of 40. With v versions in
  // flight a slot is taken for 100 + 40 cycles of v intervals.
  Problem p = parseOne(R"(loop l {
  buffer A global
  buffer S shared
  buffer G global
  statement load copy async reads A[k] writes S engine tma busy 10 latency 100
  statement use compute reads S writes G[k] engine cuda busy 40 latency 40
})")
                  .problem;
  for (int64_t v : {1, 2, 3, 4, 6}) {
    Inferred plan = infer(p, v);
    ASSERT_TRUE(plan.schedule);
    ASSERT_EQ(versions(p, *plan.schedule)[p.findBuffer("S")].count, unsigned(v));
    Rational expected = std::max(Rational::of(140, v), Rational{40, 1});
    EXPECT_EQ(predictedInterval(p, *plan.schedule, oneRole(p)), expected) << v;
    auto critical = maximumCycleRatio(scheduleGraph(p, *plan.schedule, oneRole(p)));
    ASSERT_TRUE(critical);
    EXPECT_EQ(critical->ratio, expected) << v;
  }
}

TEST(Predict, TimelineIsSound) {
  for (int64_t stages : {1, 2, 3, 4}) {
    Problem p = gemmProblem(hopper());
    Inferred plan = infer(p, stages);
    ASSERT_TRUE(plan.schedule);
    draw::Timeline t = draw::predictTimeline(p, *plan.schedule, 8);
    expectSound(p, t);
    for (int64_t k = 0; k < 8; ++k) {
      ASSERT_TRUE(find(t, "gemm", k));
      EXPECT_GE(find(t, "gemm", k)->start,
                find(t, "copyA", k)->start + p.statements[p.findStatement("copyA")].latency);
      // The slot is filled again only after its reader is done.
      int64_t v = versions(p, *plan.schedule)[p.findBuffer("As")].count;
      if (k + v < 8)
        EXPECT_GE(find(t, "copyA", k + v)->start,
                  find(t, "gemm", k)->start + p.statements[p.findStatement("gemm")].latency);
    }
  }
}

struct Attention {
  Problem problem;
  Rational twoStages;
  ModuloResult solved;
  Schedule schedule;
  RoleAssignment roles;
  draw::Timeline timeline;
  double seconds = 0;
};

Attention solveAttention(bool ownRescale) {
  Attention a{attentionProblem(hopper(), ownRescale), {}, {}, {}, {}, {}, 0};
  Inferred plan = infer(a.problem, 2);
  EXPECT_TRUE(plan.schedule) << render(plan.diagnostics);
  // The kinder of the two ways to run the two-stage plan.
  ModuloFromLoop modulo = moduloProblem(a.problem);
  EXPECT_TRUE(modulo.problem);
  auto start = std::chrono::steady_clock::now();
  a.solved = solveExact(*modulo.problem);
  a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_TRUE(a.solved.schedule);
  a.schedule = toSchedule(*a.solved.schedule);
  Problem plain = a.problem;
  a.problem = withVersions(plain, modulo, *a.solved.schedule);
  a.roles = assignRoles(a.problem, *a.solved.schedule);
  a.twoStages = std::min(predictedInterval(plain, *plan.schedule, oneRole(plain)),
                         predictedInterval(plain, *plan.schedule, a.roles));
  a.timeline = draw::predictTimeline(a.problem, a.schedule, 10, a.roles);
  std::cout << "two stages: " << a.twoStages.str() << ", solver: " << a.solved.schedule->interval
            << " (bounds " << a.solved.bounds.resource << ", " << a.solved.bounds.recurrence
            << "), " << a.schedule.numStages() << " stages, " << a.roles.names.size() << " roles, "
            << a.seconds << " s\n";
  return a;
}

TEST(Predict, AttentionOverlapsSoftmaxWithTheNextProduct) {
  if (!exactSolverBuilt())
    GTEST_SKIP() << "this build has no exact solver (Z3 was not found)";
  Attention a = solveAttention(false);
  EXPECT_TRUE(a.solved.optimal);
  EXPECT_LT(a.seconds, 2.0);
  Verdict verdict = verifySchedule(a.problem, a.schedule);
  EXPECT_TRUE(verdict.legal()) << render(toDiagnostics(a.problem, a.schedule, verdict));
  EXPECT_LT((Rational{a.solved.schedule->interval, 1}), a.twoStages);
  // The model runs the schedule at the interval that the solver promised.
  EXPECT_EQ(predictedInterval(a.problem, a.schedule, a.roles),
            (Rational{a.solved.schedule->interval, 1}));
  expectSound(a.problem, a.timeline);
  for (int64_t k = 3; k < 7; ++k)
    EXPECT_TRUE(overlap(*find(a.timeline, "softmax", k), *find(a.timeline, "QK", k + 1))) << k;
}

TEST(Predict, AttentionWithItsOwnRescaleOverlapsBothProducts) {
  if (!exactSolverBuilt())
    GTEST_SKIP() << "this build has no exact solver (Z3 was not found)";
  Attention whole = solveAttention(false), a = solveAttention(true);
  EXPECT_TRUE(a.solved.optimal);
  EXPECT_LT(a.seconds, 2.0);
  EXPECT_TRUE(verifySchedule(a.problem, a.schedule).legal());
  EXPECT_LT((Rational{a.solved.schedule->interval, 1}), a.twoStages);
  EXPECT_LT(a.solved.schedule->interval, whole.solved.schedule->interval);
  EXPECT_EQ(predictedInterval(a.problem, a.schedule, a.roles),
            (Rational{a.solved.schedule->interval, 1}));
  expectSound(a.problem, a.timeline);
  for (int64_t k = 3; k < 7; ++k) {
    const draw::Slice &softmax = *find(a.timeline, "softmax", k);
    bool overlapsPV = false;
    for (int64_t other = 0; other < 10; ++other)
      overlapsPV |= overlap(softmax, *find(a.timeline, "PV", other));
    EXPECT_TRUE(overlap(softmax, *find(a.timeline, "QK", k + 1))) << k;
    EXPECT_TRUE(overlapsPV) << k;
  }
}

TEST(Predict, HeuristicAlsoBeatsTwoStages) {
  Problem p = attentionProblem(hopper(), true);
  ModuloFromLoop modulo = moduloProblem(p);
  ModuloResult quick = solveHeuristic(*modulo.problem);
  ASSERT_TRUE(quick.schedule);
  Schedule schedule = toSchedule(*quick.schedule);
  Problem stated = withVersions(p, modulo, *quick.schedule);
  EXPECT_TRUE(verifySchedule(stated, schedule).legal());
  RoleAssignment roles = assignRoles(p, *quick.schedule);
  Inferred plan = infer(p, 2);
  EXPECT_LT(predictedInterval(stated, schedule, roles),
            predictedInterval(p, *plan.schedule, roles));
}

} // namespace
