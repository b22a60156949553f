//===- AgreementTest.cpp - The checker against concrete iterations --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Instances.h"
#include "RandomLoops.h"
#include "ReferenceChecker.h"
#include "Scheduling/Schedule/Infer.h"

#include <chrono>
#include <iostream>

using namespace penstock;
using namespace penstock::sched;
using namespace penstock::sched::test;

namespace {

struct Answer {
  std::set<unsigned> codes;
  std::map<std::string, unsigned> versions;
  friend bool operator==(const Answer &, const Answer &) = default;
};

Answer ask(const Instance &i, RuleSet rules = {}) {
  Verdict verdict = verifySchedule(i.problem, *i.schedule, rules);
  Answer answer;
  for (const Violation &v : verdict.violations)
    answer.codes.insert(v.code);
  for (BufferId b = 0; b < verdict.versions.size(); ++b)
    answer.versions[i.problem.buffers[b].name] = verdict.versions[b].needed;
  return answer;
}

Answer check(const Instance &i) {
  ReferenceChecker check(i.problem, *i.schedule);
  check.run();
  return {check.codes, check.versions};
}

std::string show(const Answer &a) {
  std::string out;
  for (unsigned c : a.codes)
    out += codeName(c) + " ";
  for (auto &[name, v] : a.versions)
    out += name + "=" + std::to_string(v) + " ";
  return out;
}

TEST(Agreement, WithConcreteIterations) {
  RandomLoops random(4711);
  int legal = 0, staged = 0, versioned = 0, malformed = 0;
  std::map<unsigned, int> seen;
  const int trials = 5000;
  for (int trial = 0; trial < trials; ++trial) {
    Instance i = random.instance();
    if (!checkProblem(i.problem).empty()) {
      ++malformed;
      continue;
    }
    Answer mine = ask(i), expected = check(i);
    ASSERT_EQ(mine.codes, expected.codes)
        << "trial " << trial << "\n"
        << printInstance(i) << "library: " << show(mine) << "\nconcrete: " << show(expected);
    if (!mine.versions.empty())
      ASSERT_EQ(mine.versions, expected.versions)
          << "trial " << trial << "\n"
          << printInstance(i) << "library: " << show(mine) << "\nconcrete: " << show(expected);
    for (unsigned c : mine.codes)
      ++seen[c];
    if (mine.codes.empty()) {
      ++legal;
      staged += i.schedule->numStages() > 1;
      for (auto &[name, v] : mine.versions)
        if (v > 1) {
          ++versioned;
          break;
        }
    }
  }
  std::cout << "legal=" << legal << " staged=" << staged << " versioned=" << versioned
            << " malformed=" << malformed << " ";
  for (auto [code, times] : seen)
    std::cout << codeName(code) << "=" << times << " ";
  std::cout << "\n";
  EXPECT_GT(legal, trials / 5);
  EXPECT_GT(staged, trials / 10);
  EXPECT_GT(versioned, trials / 20);
  for (unsigned code : {ReadBeforeWrite, WriteBeforeWrite, WriteBeforeRead, WaitBeforeIssue,
                        ScalarOtherStage, ScalarBeforeUse, CommitOtherStage, CommitBeforeGroup,
                        CommitNotAlone, FenceMoved, OrderTwice, VersionsTooFew, VersionsOnFixed})
    EXPECT_GT(seen[code], 5) << codeName(code);
}

/// Each rule, weakened alone, is caught by the same comparison.
TEST(Agreement, EveryWeakenedRuleIsNoticed) {
  for (const RuleInfo &rule : allRules()) {
    RandomLoops random(99);
    bool found = false;
    int trial = 0;
    for (; trial < 60000 && !found; ++trial) {
      Instance i = random.instance();
      if (!checkProblem(i.problem).empty())
        continue;
      // The reference is slow; ask it only where the weakened rule matters.
      Answer weak = ask(i, RuleSet::without(rule.rule));
      if (weak != ask(i))
        found = weak != check(i);
    }
    EXPECT_TRUE(found) << rule.name << ": " << rule.weakened;
  }
  EXPECT_GE(allRules().size(), 12u);
}

TEST(Agreement, LargeBodyIsCheckedQuickly) {
  // 100 statements over 30 buffers in 4 stages.
  std::string text = "loop large {\n";
  for (int b = 0; b < 30; ++b)
    text += "  buffer b" + std::to_string(b) + " shared bytes 128\n";
  for (int s = 0; s < 100; ++s) {
    auto buffer = [&](int x) { return "b" + std::to_string(x % 30); };
    text += "  statement s" + std::to_string(s) + " compute reads " + buffer(s + 29) + ", " +
            buffer(s + 17) + "[4*k:4] writes " + buffer(s) + "\n";
  }
  text += "  schedule stage";
  for (int s = 0; s < 100; ++s)
    text += " " + std::to_string(s / 25);
  text += " order";
  for (int s = 0; s < 100; ++s)
    text += " " + std::to_string(s);
  Instance i = parseOne(text + "\n}\n");
  auto start = std::chrono::steady_clock::now();
  LoopModel model(i.problem);
  Verdict verdict = verifySchedule(model, *i.schedule);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (size_t s = 0; s < i.problem.statements.size(); s += 10)
    i.problem.statements[s].kind = StatementKind::Copy;
  start = std::chrono::steady_clock::now();
  Inferred plan = infer(i.problem, 3);
  double inferring =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_TRUE(plan.schedule || !plan.diagnostics.empty());
  EXPECT_LT(inferring, 1.0);
  std::cout << "inference seconds=" << inferring << "\n";
  EXPECT_GE(model.pairs.size(), 300u);
  EXPECT_EQ(verdict.versions.size(), 30u);
  EXPECT_LT(seconds, 0.1);
  std::cout << "pairs=" << model.pairs.size() << " seconds=" << seconds << "\n";
}

} // namespace
