//===- VersionsTest.cpp - Copies of a buffer, and implicit waits ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Instances.h"
#include "RandomLoops.h"
#include "gmock/gmock.h"

#include <map>
#include <set>

using namespace penstock;
using namespace penstock::sched;

namespace {

struct Solved {
  Instance instance;
  Verdict verdict;
  unsigned versions(const std::string &buffer) const {
    return versionsOf(instance, verdict, buffer);
  }
};

Solved legal(const std::string &text) {
  Instance i = parseOne(text);
  Verdict verdict = verifySchedule(i.problem, i.schedule.value());
  for (const Diagnostic &d : toDiagnostics(i.problem, *i.schedule, verdict))
    ADD_FAILURE() << render(d);
  return {i, verdict};
}

TEST(Versions, SlotIsReadUntilTheWait) {
  // The row that other compilers get wrong.
  Solved s = legal(R"(loop wgmma {
  buffer A global
  buffer B global
  buffer As shared
  buffer Bs shared
  buffer acc local
  queue mma inorder acc
  statement copyA copy reads A[k] writes As
  statement copyB copy reads B[k] writes Bs
  statement gemm compute async queue mma reads As, Bs, acc writes acc
  statement wait wait awaits gemm@0
  schedule stage 0 0 2 3 order 0 1 2 3
})");
  EXPECT_EQ(s.versions("As"), 4u);
  EXPECT_EQ(s.versions("Bs"), 4u);
  EXPECT_EQ(s.versions("acc"), 1u);
}

TEST(Versions, WaitDistanceAddsVersions) {
  Solved s = legal(R"(loop wgmma {
  buffer A global
  buffer As shared
  buffer acc local
  queue mma inorder acc
  statement copy copy reads A[k] writes As
  statement gemm compute async queue mma reads As, acc writes acc
  statement wait wait awaits gemm@1
  schedule stage 0 1 1 order 0 1 2
})");
  // gemm k ends at step k+2 after the copy of that step: copies of k, k+1, k+2.
  EXPECT_EQ(s.versions("As"), 3u);
}

TEST(Versions, OrderInsideTheStepDecides) {
  const std::string body = R"(loop l {
  buffer A global
  buffer As shared
  buffer G global
  statement copy copy reads A[k] writes As
  statement use compute reads As writes G[k]
  schedule stage 0 1 order )";
  EXPECT_EQ(legal(body + "0 1\n}").versions("As"), 2u);
  EXPECT_EQ(legal(body + "1 0\n}").versions("As"), 1u);
}

TEST(Versions, PartsOfOneTileCoverIt) {
  const std::string body = R"(loop l {
  buffer A global
  buffer S shared [8]
  buffer G global
  statement lo copy reads A[k] writes S[0:4]
  statement hi copy reads A[k] writes S[4:%]
  statement use compute reads S writes G[k]
  schedule stage 0 0 1 order 0 1 2
})";
  auto with = [&](const std::string &length) {
    std::string text = body;
    return text.replace(text.find('%'), 1, length);
  };
  EXPECT_EQ(legal(with("4")).versions("S"), 2u);
  // One cell keeps its value from iteration to iteration: no versions, and the
  // copy of k+1 may not overtake the use of k.
  Instance i = parseOne(with("3"));
  EXPECT_FALSE(verifySchedule(i.problem, *i.schedule).legal());
}

TEST(Versions, ConditionalWriteKeepsTheOldTile) {
  const std::string body = R"(loop l {
  buffer A global
  buffer S shared
  buffer G global
  statement copy copy reads A[k] writes S when c
  statement use compute reads S writes G[k]%
  schedule stage 0 1 order 0 1
})";
  auto with = [&](const std::string &guard) {
    std::string text = body;
    return text.replace(text.find('%'), 1, guard);
  };
  Instance i = parseOne(with(""));
  EXPECT_FALSE(verifySchedule(i.problem, *i.schedule).legal());
  EXPECT_EQ(legal(with(" when c")).versions("S"), 2u);
  EXPECT_EQ(legal(with(" when c & d")).versions("S"), 2u);
}

TEST(Versions, BothBranchesTogetherCover) {
  Solved s = legal(R"(loop l {
  buffer A global
  buffer S shared
  buffer G global
  statement yes copy reads A[k] writes S when c
  statement no compute writes S when !c
  statement use compute reads S writes G[k]
  schedule stage 0 0 1 order 0 1 2
})");
  EXPECT_EQ(s.versions("S"), 2u);
}

TEST(Versions, ReadAfterTheLoop) {
  const std::string body = R"(loop l {
  buffer A global
  buffer S shared after
  buffer G global
  statement copy copy reads A[k] writes S %
  statement use compute reads S writes G[k] when c
  schedule stage 0 1 order 0 1
})";
  auto with = [&](const std::string &guard) {
    std::string text = body;
    return text.replace(text.find('%'), 1, guard);
  };
  EXPECT_EQ(legal(with("")).versions("S"), 2u);
  // Only a conditional write: what is read afterwards may be older.
  Instance i = parseOne(with("when c"));
  LoopModel model(i.problem);
  EXPECT_FALSE(model.versionable[i.problem.findBuffer("S")]);
  EXPECT_FALSE(verifySchedule(i.problem, *i.schedule).legal());
}

TEST(Versions, AccumulatorWrittenFreshMayBeVersioned) {
  // S = Q*K without accumulation: each iteration has its own.
  Solved s = legal(R"(loop l {
  buffer S tensor
  buffer G global
  queue mma inorder S
  statement qk compute async queue mma writes S
  statement wait wait awaits qk@0
  statement softmax compute reads S writes G[k]
  schedule stage 0 1 1 order 2 0 1
})");
  EXPECT_EQ(s.versions("S"), 1u);
}

std::vector<ImplicitWait> waitsOf(const Instance &i) {
  LoopModel model(i.problem);
  Order order(model, i.schedule.value());
  return implicitWaits(order, versions(order));
}

TEST(ImplicitWaits, BeforeTheFirstConflict) {
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer As shared
  buffer Bs shared
  buffer acc local
  queue mma inorder acc
  statement copyA copy async reads A[k] writes As
  statement copyB copy async reads A[k] writes Bs
  statement fill compute writes acc
  statement first compute async queue mma reads As, acc writes acc
  statement second compute async queue mma reads Bs, acc writes acc
  statement use compute reads acc
  schedule stage 0 0 1 1 1 1 order 4 5 0 1 2 3
})");
  ASSERT_TRUE(verifySchedule(i.problem, *i.schedule).legal());
  auto waits = waitsOf(i);
  auto find = [&](const char *name) {
    for (const ImplicitWait &w : waits)
      if (w.statement == i.problem.findStatement(name))
        return std::pair(w.before == none ? std::string("end")
                                          : i.problem.statements[w.before].name,
                         w.distance);
    return std::pair(std::string("none"), int64_t(0));
  };
  EXPECT_EQ(find("copyA"), std::pair(std::string("first"), int64_t(0)));
  EXPECT_EQ(find("copyB"), std::pair(std::string("second"), int64_t(0)));
  EXPECT_EQ(find("second"), std::pair(std::string("use"), int64_t(0)));
}

TEST(ImplicitWaits, TheNextConflictWaitsWhereTheFirstIsMissing) {
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer G global
  buffer S shared
  buffer acc local
  statement copy copy reads A[k] writes S
  statement gemm compute async reads S writes acc
  statement store compute reads acc writes G[2*k]
  statement again compute reads acc writes G[2*k+1]
  schedule stage 0 2 2 2 order 1 0 2 3
})");
  ASSERT_TRUE(verifySchedule(i.problem, *i.schedule).legal());
  // The copy of two iterations later comes first, and the last two iterations
  // have none. Where `store` is reached, it has waited for `again` too.
  auto waits = waitsOf(i);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(i.problem.statements[waits[0].before].name, "copy");
  LoopModel model(i.problem);
  Order order(model, i.schedule.value());
  auto emitted = emittedWaits(order, versions(order));
  ASSERT_EQ(emitted.size(), 2u);
  EXPECT_EQ(i.problem.statements[emitted[0].before].name, "copy");
  EXPECT_EQ(emitted[0].distance, 2);
  EXPECT_EQ(i.problem.statements[emitted[1].before].name, "store");
  EXPECT_EQ(emitted[1].distance, 0);
}

TEST(ImplicitWaits, QueueNeedsNoneAndTheEndDrains) {
  Instance i = parseOne(R"(loop l {
  buffer acc local
  buffer G global
  queue mma inorder acc
  statement gemm compute async queue mma reads acc writes acc
  statement store compute async writes G[k]
  schedule stage 0 0 order 0 1
})");
  auto waits = waitsOf(i);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].before, none);
  EXPECT_EQ(waits[1].before, none);
}

TEST(ImplicitWaits, ReadsEndBeforeTheSlotIsRefilled) {
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer As shared versions 3
  buffer acc local
  queue mma inorder acc
  statement copy copy reads A[k] writes As
  statement gemm compute async queue mma reads As, acc writes acc
  schedule stage 0 1 order 0 1
})");
  auto waits = waitsOf(i);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_TRUE(waits[0].reads);
  EXPECT_TRUE(waits[0].writes);
  EXPECT_EQ(waits[0].before, i.problem.findStatement("copy"));
  EXPECT_EQ(waits[0].distance, 3); // the next copy into the same of 3 slots
}

TEST(CountedWaits, TheEmittedCountFollowsThePlace) {
  // One group per iteration, awaited at once in the source: wait<0>. In the
  // schedule the wait stands two steps later, behind two newer commits.
  Instance i = parseOne(R"(loop l {
  buffer A global
  buffer X shared
  buffer G global
  queue cp
  statement x copy async queue cp reads A[k] writes X
  statement c commit queue cp
  statement w wait queue cp count 0
  statement use compute reads X writes G[k]
  schedule stage 0 0 2 2 order 0 1 2 3
})");
  ASSERT_TRUE(verifySchedule(i.problem, *i.schedule).legal());
  LoopModel model(i.problem);
  Order order(model, *i.schedule);
  StatementId w = i.problem.findStatement("w");
  for (int64_t n : {1, 2, 3, 7})
    for (int64_t k = 0; k < n; ++k) {
      // Commits k+1 and k+2 have been issued, as far as they exist.
      int64_t newer = std::min<int64_t>(2, n - 1 - k);
      EXPECT_EQ(emittedCount(order, w, k, n), newer) << "n=" << n << " k=" << k;
    }
}

/// Random legal loops with counted waits, executed with the counts that their
/// places get: a wait ends all groups but the latest `count` issued so far.
/// Every group that the source binds to the wait must be among them, and one
/// more would leave one out.
TEST(CountedWaits, EmittedCountsKeepTheBinding) {
  test::RandomLoops random(8);
  int loops = 0, waits = 0, positive = 0;
  for (int trial = 0; trial < 90000 && loops < 1000; ++trial) {
    Instance i = random.instance();
    const Problem &p = i.problem;
    bool counted = std::any_of(p.statements.begin(), p.statements.end(),
                               [](const Statement &s) { return s.count >= 0; });
    if (!counted || !checkProblem(p).empty() || !verifySchedule(p, *i.schedule).legal())
      continue;
    ++loops;
    LoopModel model(p);
    Order order(model, *i.schedule);
    for (int64_t n : {1, 2, 3, 6}) {
      // All instances in the order of the schedule; waits also past the end.
      std::vector<std::tuple<Position, StatementId, int64_t>> run;
      for (StatementId s = 0; s < p.statements.size(); ++s)
        for (int64_t k = 0; k < n + 4; ++k)
          if (k < n || p.statements[s].kind == StatementKind::Wait)
            run.emplace_back(order.issue(s).later(k), s, k);
      std::sort(run.begin(), run.end());
      std::map<QueueId, std::vector<std::pair<StatementId, int64_t>>> issued;
      for (auto [at, s, k] : run) {
        const Statement &statement = p.statements[s];
        if (statement.kind == StatementKind::Commit)
          issued[statement.queue].emplace_back(s, k);
        if (statement.count < 0)
          continue;
        auto count = emittedCount(order, s, k, n);
        // The groups with members that the source binds to this wait.
        std::set<std::pair<StatementId, int64_t>> bound;
        for (StatementId m = 0; m < p.statements.size(); ++m)
          for (bool writes : {false, true})
            for (const Completion &by : model.waits(m, writes))
              if (by.wait == s && model.commitOf[m] != none)
                for (int64_t older = 0; older <= k - by.distance; ++older)
                  if (older < n)
                    bound.emplace(model.commitOf[m], older);
        EXPECT_EQ(count.has_value(), !bound.empty()) << printInstance(i);
        if (!count)
          continue;
        ++waits;
        positive += *count > 0;
        const auto &groups = issued[statement.queue];
        auto ended = [&](int64_t left) {
          size_t done = 0;
          for (int64_t g = 0; g + left < int64_t(groups.size()); ++g)
            done += bound.count(groups[g]);
          return done == bound.size();
        };
        EXPECT_TRUE(ended(*count)) << printInstance(i) << "n=" << n;
        EXPECT_FALSE(ended(*count + 1)) << printInstance(i) << "n=" << n;
      }
    }
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GE(loops, 800);
  EXPECT_GT(waits, 2000);
  EXPECT_GT(positive, 300);
}

} // namespace
