//===- InferTest.cpp - Plans from num_stages ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Infer.h"
#include "Diagnostics/Codes.h"
#include "Instances.h"
#include "gmock/gmock.h"

#include <random>

using namespace penstock;
using namespace penstock::sched;
using testing::ElementsAre;

namespace {

const char *gemmBody = R"(loop gemm {
  buffer A global
  buffer B global
  buffer As shared bytes 16384
  buffer Bs shared bytes 16384
  buffer acc local
  statement copyA copy reads A[k] writes As at "m.cpp" 20
  statement copyB copy reads B[k] writes Bs at "m.cpp" 21
  statement gemm compute reads As, Bs, acc writes acc at "m.cpp" 22
})";

const char *attentionBody = R"(loop attention {
  buffer K global
  buffer V global
  buffer Ks shared
  buffer Vs shared
  buffer S local
  buffer P local
  buffer out local
  statement copyK copy reads K[k] writes Ks
  statement QK compute reads Ks writes S
  statement softmax compute reads S, out writes P, out
  statement copyV copy reads V[k] writes Vs
  statement PV compute reads P, Vs, out writes out
})";

struct Row {
  const char *body;
  int64_t numStages;
  std::vector<int64_t> stage, order;
  std::vector<std::pair<const char *, unsigned>> versions;
};

/// The table of the documentation, row by row.
TEST(Infer, CheckValues) {
  for (const Row &row :
       std::vector<Row>{{gemmBody, 1, {0, 0, 1}, {1, 2, 0}, {{"As", 1}, {"Bs", 1}}},
                        {gemmBody, 2, {0, 0, 1}, {0, 1, 2}, {{"As", 2}, {"Bs", 2}}},
                        {gemmBody, 3, {0, 0, 2}, {0, 1, 2}, {{"As", 3}, {"Bs", 3}}},
                        {attentionBody,
                         2,
                         {0, 2, 2, 0, 2},
                         {1, 0, 2, 4, 3},
                         {{"Ks", 2}, {"Vs", 2}, {"S", 1}, {"P", 1}, {"out", 1}}}}) {
    Instance i = parseOne(row.body);
    Inferred plan = infer(i.problem, row.numStages);
    ASSERT_TRUE(plan.schedule) << render(plan.diagnostics);
    EXPECT_TRUE(plan.diagnostics.empty());
    EXPECT_EQ(plan.schedule->stage, row.stage);
    EXPECT_EQ(plan.schedule->order, row.order);
    for (auto [buffer, versions] : row.versions)
      EXPECT_EQ(versionsOf(i, plan.verdict, buffer), versions) << buffer;
  }
}

TEST(Infer, RefusesWhatCannotBePipelined) {
  Instance i = parseOne(gemmBody);
  for (int64_t n : {0, -1, -100}) {
    Inferred plan = infer(i.problem, n);
    EXPECT_FALSE(plan.schedule);
    ASSERT_EQ(plan.diagnostics.size(), 1u);
    EXPECT_EQ(plan.diagnostics[0].code, NumStagesTooSmall);
  }
  Instance none = parseOne(R"(loop l {
  buffer acc local
  statement a compute reads acc writes acc
})");
  Inferred plan = infer(none.problem, 2);
  EXPECT_FALSE(plan.schedule);
  EXPECT_EQ(plan.diagnostics.at(0).code, NothingToPipeline);
}

TEST(Infer, CarriedTileIsRefusedWithBothLines) {
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer S shared
  buffer acc local
  statement gemm compute reads S, acc writes acc at "m.cpp" 7
  statement copy copy reads A[k] writes S at "m.cpp" 8
})");
  Inferred plan = infer(i.problem, 2);
  EXPECT_FALSE(plan.schedule);
  ASSERT_EQ(plan.diagnostics.size(), 1u);
  const Diagnostic &d = plan.diagnostics[0];
  EXPECT_EQ(d.code, NothingToPipeline);
  ASSERT_EQ(d.notes.size(), 2u);
  EXPECT_EQ(d.notes[0].location.line, 8u);
  EXPECT_EQ(d.notes[1].location.line, 7u);
}

TEST(Infer, RecurrenceThroughGlobalMemoryGetsTheDeepestLegalPlan) {
  const char *body = R"(loop l {
  buffer G global
  buffer B global
  buffer S shared
  buffer T shared
  statement load copy reads G[k] writes S at "m.cpp" 3
  statement other copy reads B[k] writes T at "m.cpp" 4
  statement compute compute reads S, T writes S at "m.cpp" 5
  statement store compute reads S writes G[k+%] at "m.cpp" 6
})";
  for (int64_t distance : {1, 2, 5}) {
    std::string text = body;
    text.replace(text.find('%'), 1, std::to_string(distance));
    Instance i = parseOne(text);
    Inferred plan = infer(i.problem, 3);
    ASSERT_TRUE(plan.schedule) << render(plan.diagnostics);
    EXPECT_TRUE(verifySchedule(i.problem, *plan.schedule).legal());
    StatementId load = i.problem.findStatement("load");
    StatementId other = i.problem.findStatement("other");
    StatementId store = i.problem.findStatement("store");
    const auto &stage = plan.schedule->stage;
    // load k+distance must come after store k; the other copy is free.
    EXPECT_EQ(stage[store] - stage[load], std::min<int64_t>(distance, 3));
    EXPECT_EQ(stage[store] - stage[other], 3);
    if (distance < 3) {
      ASSERT_EQ(plan.diagnostics.size(), 1u);
      EXPECT_EQ(plan.diagnostics[0].code, PlanShallower);
      EXPECT_EQ(plan.diagnostics[0].severity, Severity::Warning);
      ASSERT_EQ(plan.diagnostics[0].notes.size(), 2u);
      EXPECT_EQ(plan.diagnostics[0].notes[0].location.line, 3u);
      EXPECT_EQ(plan.diagnostics[0].notes[1].location.line, 6u);
    } else {
      EXPECT_TRUE(plan.diagnostics.empty()) << render(plan.diagnostics);
    }
  }
}

/// No plan of the same shape (consumers in source order, copies after their
/// last use or in place) runs a copy further ahead.
TEST(Infer, FallbackIsDeepest) {
  Instance i = parseOne(R"(loop l {
  buffer G global
  buffer S shared
  statement load copy reads G[k] writes S
  statement store compute reads S writes G[k+2]
})");
  Inferred plan = infer(i.problem, 4);
  ASSERT_TRUE(plan.schedule);
  int64_t deepest = plan.schedule->numStages();
  EXPECT_EQ(deepest, 3);
  for (int64_t stage = deepest; stage < 8; ++stage)
    for (bool loadFirst : {true, false}) {
      Schedule deeper{{0, stage}, {loadFirst ? 0 : 1, loadFirst ? 1 : 0}};
      EXPECT_FALSE(verifySchedule(i.problem, deeper).legal());
    }
}

/// One copy in a random body: no lead and no position for it is legal that would
/// make the pipeline deeper than the plan.
TEST(Infer, FallbackEqualsExhaustiveSearch) {
  std::mt19937 rng(12);
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  int shallower = 0, refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    int consumers = pick(1, 4), copyAt = pick(0, consumers);
    std::string text = "loop l {\n  buffer G global\n  buffer S shared\n"
                       "  buffer T shared\n";
    for (int s = 0; s <= consumers; ++s) {
      text += "  statement s" + std::to_string(s);
      if (s == copyAt) {
        text += " copy reads G[k] writes S\n";
        continue;
      }
      text += " compute";
      for (const char *read : {"S", "T"})
        if (pick(0, 2) == 0)
          text += std::string(" reads ") + read;
      if (pick(0, 1))
        text += " writes T";
      if (pick(0, 2) == 0)
        text += " writes G[k+" + std::to_string(pick(1, 4)) + "]";
      text += "\n";
    }
    Problem p = parseOne(text + "}\n").problem;
    int64_t asked = pick(2, 4);
    // Consumers keep their order; the copy may stand anywhere among them.
    int64_t deepest = 0;
    for (int64_t lead = 1; lead <= asked; ++lead)
      for (int position = 0; position <= consumers; ++position) {
        Schedule s = identitySchedule(p);
        int64_t next = 0;
        for (int c = 0; c <= consumers; ++c) {
          s.stage[c] = c == copyAt ? 0 : lead;
          if (c != copyAt)
            s.order[c] = next + (next >= position);
          next += c != copyAt;
        }
        s.order[copyAt] = position;
        if (verifySchedule(p, s).legal())
          deepest = lead;
      }
    Inferred plan = infer(p, asked);
    if (deepest == 0) {
      ++refused;
      EXPECT_FALSE(plan.schedule) << text;
      continue;
    }
    ASSERT_TRUE(plan.schedule) << text << render(plan.diagnostics);
    // The rule may write a lead of S as S-1 stages with the copies in front.
    int64_t stages = plan.schedule->numStages();
    bool front = plan.schedule->order[copyAt] == 0;
    EXPECT_EQ(stages - 1 + (front && deepest > 1), deepest) << text;
    shallower += deepest < asked;
  }
  EXPECT_GT(shallower, 200);
  EXPECT_GT(refused, 100);
}

TEST(Infer, ExplicitWaitEndsTheUse) {
  // The copies are issued after the wait, not after the issue of the gemm.
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer As shared
  buffer acc local
  buffer G global
  queue mma inorder acc
  statement copy copy reads A[k] writes As
  statement gemm compute async queue mma reads As, acc writes acc
  statement commit commit queue mma
  statement wait wait queue mma count 0
  statement store compute reads acc writes G[k]
})");
  Inferred plan = infer(i.problem, 3);
  ASSERT_TRUE(plan.schedule) << render(plan.diagnostics);
  EXPECT_THAT(plan.schedule->stage, ElementsAre(0, 3, 3, 3, 3));
  EXPECT_THAT(plan.schedule->order, ElementsAre(3, 0, 1, 2, 4));
  EXPECT_EQ(versionsOf(i, plan.verdict, "As"), 3u);
}

TEST(Infer, CopiesTakeAlongWhatOnlyTheyNeed) {
  Instance i = parseOne(R"(loop l {
  buffer Ids global
  buffer A global
  buffer ids shared
  buffer S shared
  buffer G global
  statement loadIds compute reads Ids[k] writes ids
  statement scaleIds compute reads ids writes ids
  statement index scalar reads ids users gather
  statement clear compute writes S
  statement gather copy reads A writes S
  statement use compute reads S writes G[k]
})");
  Inferred plan = infer(i.problem, 2);
  ASSERT_TRUE(plan.schedule) << render(plan.diagnostics);
  EXPECT_TRUE(plan.diagnostics.empty());
  EXPECT_THAT(plan.schedule->stage, ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(plan.schedule->order, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(versionsOf(i, plan.verdict, "S"), 2u);
}

TEST(Infer, AsynchronousCopiesWithCommitAndWait) {
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer S shared
  buffer G global
  queue cp
  statement load copy async queue cp reads A[k] writes S
  statement commit commit queue cp
  statement wait wait queue cp count 0
  statement use compute reads S writes G[k]
})");
  Inferred plan = infer(i.problem, 3);
  ASSERT_TRUE(plan.schedule) << render(plan.diagnostics);
  EXPECT_TRUE(plan.diagnostics.empty());
  EXPECT_THAT(plan.schedule->stage, ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(plan.schedule->order, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(versionsOf(i, plan.verdict, "S"), 3u);
}

TEST(Infer, NamesTheLargestNumberThatFits) {
  Instance i = parseOne(gemmBody);
  i.problem.capacity[size_t(Space::Shared)] = 232448; // 7 x 32768 = 229376
  for (int64_t n : {7, 2})
    EXPECT_TRUE(infer(i.problem, n).schedule) << n;
  Inferred plan = infer(i.problem, 20);
  EXPECT_FALSE(plan.schedule);
  ASSERT_EQ(plan.diagnostics.size(), 1u);
  EXPECT_EQ(plan.diagnostics[0].code, VersionsDoNotFit);
  EXPECT_THAT(plan.diagnostics[0].helps, ElementsAre("num_stages = 7 is the largest that fits"));
}

/// The schedules that other systems accept and get wrong: each is refused or
/// comes out right. The expected values are reasoned out in the comments.
TEST(Infer, KnownMistakesOfOtherSystems) {
  // Explicit wgmma with wait<1>: one more version than with wait<0>.
  auto wgmma = [](int count) {
    return R"(loop l {
  buffer A global
  buffer As shared
  buffer acc local
  queue mma inorder acc
  statement copy copy reads A[k] writes As
  statement gemm compute async queue mma reads As, acc writes acc
  statement commit commit queue mma
  statement wait wait queue mma count )" +
           std::to_string(count) + "\n}";
  };
  for (int count : {0, 1}) {
    Instance i = parseOne(wgmma(count));
    Inferred plan = infer(i.problem, 3);
    ASSERT_TRUE(plan.schedule) << render(plan.diagnostics);
    EXPECT_EQ(versionsOf(i, plan.verdict, "As"), 3u + count);
  }
  // copy, compute, store with stage [0, 0, 1] is legal; the copy's implicit
  // wait stands before the compute.
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer S shared
  buffer G global
  statement copy copy async reads A[k] writes S
  statement compute compute reads S writes S
  statement store compute reads S writes G[k]
  schedule stage 0 0 1 order 0 1 2
})");
  ASSERT_TRUE(verifySchedule(i.problem, *i.schedule).legal());
  LoopModel model(i.problem);
  Order order(model, *i.schedule);
  auto waits = implicitWaits(order, versions(order));
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].before, i.problem.findStatement("compute"));
  EXPECT_EQ(waits[0].distance, 0);
  // A copy under a condition keeps the old tile: one version, no run-ahead.
  Instance conditional = parseOne(R"(loop l {
  buffer A global
  buffer S shared
  buffer acc local
  statement copy copy reads A[k] writes S when c
  statement gemm compute reads S, acc writes acc
})");
  Inferred plan = infer(conditional.problem, 2);
  ASSERT_TRUE(plan.schedule) << render(plan.diagnostics);
  EXPECT_EQ(versionsOf(conditional, plan.verdict, "S"), 1u);
  EXPECT_THAT(plan.schedule->stage, ElementsAre(0, 1));
  EXPECT_THAT(plan.schedule->order, ElementsAre(1, 0));
}

} // namespace
