//===- ValuesTest.cpp - Accepted schedules compute the same values --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs random loops in source order and in the order of an accepted schedule,
// with slots, and with asynchronous effects at random moments before their
// completion. Values are hashes of everything that went into them, so equal
// results mean that every read saw the right write.
//
//===----------------------------------------------------------------------===//
#include "Instances.h"
#include "RandomLoops.h"

#include <functional>
#include <iostream>
#include <map>

using namespace penstock;
using namespace penstock::sched;
using namespace penstock::sched::test;

namespace {

using Value = uint64_t;

Value mix(Value a, Value b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdull;
  return a ^ (a >> 29);
}

/// All that a box of the generator can touch, and more than a whole buffer.
constexpr int64_t lowest = -12, highest = 26;

class Machine {
public:
  Machine(const Problem &p, std::vector<int64_t> versions)
      : p(p), versions(std::move(versions)), scalar(p.statements.size(), 0) {}

  std::pair<int64_t, int64_t> range(const Region &r, int64_t k) const {
    if (r.kind != Region::Kind::Box)
      return {lowest, highest};
    int64_t from = r.box[0].scale * k + r.box[0].offset;
    return {from, from + r.box[0].length};
  }
  Value &cell(BufferId b, int64_t k, int64_t c) {
    int64_t v = versions[b];
    auto [at, fresh] = memory.emplace(std::tuple(b, ((k % v) + v) % v, c), 0);
    // What was there before the loop; other slots than the last hold garbage.
    if (fresh)
      at->second = mix(mix(b + 1, Value(c)), (k % v + v) % v == v - 1 ? 7 : 1000 + k % v);
    return at->second;
  }
  Value reads(StatementId s, int64_t k) {
    Value seen = mix(s, Value(k));
    for (const Access &a : p.statements[s].accesses) {
      if (a.write)
        continue;
      auto [from, to] = range(a.region, k);
      for (int64_t c = from; c < to; ++c)
        seen = mix(seen, cell(a.buffer, k, c));
    }
    for (StatementId d = 0; d < p.statements.size(); ++d)
      for (StatementId user : p.statements[d].users)
        if (user == s)
          seen = mix(seen, scalar[d]);
    if (p.statements[s].kind == StatementKind::Scalar)
      scalar[s] = seen;
    return seen;
  }
  void writes(StatementId s, int64_t k, Value seen) {
    for (const Access &a : p.statements[s].accesses) {
      if (!a.write)
        continue;
      auto [from, to] = range(a.region, k);
      for (int64_t c = from; c < to; ++c)
        cell(a.buffer, k, c) = mix(seen, Value(c));
    }
  }
  /// Tensors, and what is read after the loop.
  std::vector<Value> result(int64_t n) {
    std::vector<Value> out;
    for (BufferId b = 0; b < p.buffers.size(); ++b) {
      if (p.buffers[b].space == Space::Global)
        for (int64_t c = lowest; c < highest; ++c)
          out.push_back(cell(b, n - 1, c));
      for (const Region &r : p.buffers[b].readAfter) {
        auto [from, to] = range(r, n - 1);
        for (int64_t c = from; c < to; ++c)
          out.push_back(cell(b, n - 1, c));
      }
    }
    return out;
  }

private:
  const Problem &p;
  std::vector<int64_t> versions;
  std::vector<Value> scalar;
  std::map<std::tuple<BufferId, int64_t, int64_t>, Value> memory;
};

/// One execution of a schedule with random moments for asynchronous effects.
std::vector<Value> runScheduled(const Problem &p, const Order &order,
                                const std::vector<BufferVersions> &versions, int64_t n,
                                RandomLoops &random,
                                const std::function<bool(StatementId, int64_t)> &exists) {
  struct Effect {
    StatementId s;
    int64_t k;
    int64_t read, write; ///< moments; positions of the run are even numbers
  };
  std::vector<std::tuple<Position, StatementId, int64_t>> run;
  for (StatementId s = 0; s < p.statements.size(); ++s)
    for (int64_t k = 0; k < n + 4; ++k)
      if (k < n || p.statements[s].kind == StatementKind::Wait)
        run.emplace_back(order.issue(s).later(k), s, k);
  std::sort(run.begin(), run.end());
  auto momentOf = [&](Position at) {
    auto found =
        std::lower_bound(run.begin(), run.end(), std::tuple(at, StatementId(0), int64_t(0)));
    return 2 * int64_t(found - run.begin());
  };
  auto implicit = implicitWaits(order, versions);
  std::vector<Effect> effects;
  std::map<QueueId, int64_t> nextInQueue;
  // Backwards, since a later member of an in-order queue bounds earlier ones.
  for (size_t i = run.size(); i-- > 0;) {
    auto [at, s, k] = run[i];
    const Statement &statement = p.statements[s];
    if (k >= n || !exists(s, k))
      continue;
    int64_t issue = 2 * int64_t(i), last[2];
    for (bool writes : {false, true}) {
      last[writes] = issue;
      if (!statement.async)
        continue;
      last[writes] = 2 * int64_t(run.size()) + 1;
      if (order.completedBy(s, writes).wait != none)
        last[writes] = momentOf(order.completion(s, writes).later(k)) - 1;
      for (const ImplicitWait &w : implicit)
        if (w.statement == s && (writes ? w.writes : w.reads) && w.before != none)
          last[writes] =
              std::min(last[writes], momentOf(order.issue(w.before).later(k + w.distance)) - 1);
    }
    auto pick = [&](int64_t from, int64_t to) {
      if (from >= to || random.chance(35))
        return from;
      return random.chance(50) ? to : int64_t(random.pick(int(from), int(to)));
    };
    Effect e{s, k, issue, issue};
    if (statement.async && statement.queue != none && p.queues[statement.queue].inOrder) {
      auto [bound, fresh] = nextInQueue.emplace(statement.queue, 2 * int64_t(run.size()) + 1);
      int64_t latest = std::min({bound->second, last[0], last[1]});
      e.read = e.write = pick(issue, std::max(issue, latest));
      bound->second = e.read;
    } else if (statement.async) {
      // What is written was read before.
      e.read = pick(issue, std::max(issue, std::min(last[0], last[1])));
      e.write = pick(e.read, std::max(e.read, last[1]));
    }
    effects.push_back(e);
  }
  std::vector<int64_t> counts;
  for (const BufferVersions &v : versions)
    counts.push_back(v.count);
  Machine machine(p, counts);
  // At one moment things happen in the order of issue.
  std::reverse(effects.begin(), effects.end());
  std::vector<Value> seen(effects.size());
  std::vector<std::tuple<int64_t, size_t, bool>> moments;
  for (size_t i = 0; i < effects.size(); ++i) {
    moments.emplace_back(effects[i].read, i, false);
    moments.emplace_back(effects[i].write, i, true);
  }
  std::sort(moments.begin(), moments.end());
  for (auto [when, i, write] : moments) {
    if (write)
      machine.writes(effects[i].s, effects[i].k, seen[i]);
    else
      seen[i] = machine.reads(effects[i].s, effects[i].k);
  }
  return machine.result(n);
}

/// Runs both ways for a few trip counts and conditions; empty if all agree.
std::string firstDifference(const Instance &i, const std::vector<BufferVersions> &versions,
                            RandomLoops &random, int &runs) {
  const Problem &p = i.problem;
  LoopModel model(p);
  Order order(model, *i.schedule);
  for (int64_t n : {0, 1, 2, 3, 6})
    for (int repeat = 0; repeat < 3; ++repeat) {
      uint64_t c = random.pick(0, 1 << 10), d = random.pick(0, 1 << 10);
      auto exists = [&](StatementId s, int64_t k) {
        for (const Literal &l : p.statements[s].guard)
          if (((l.condition == "c" ? c : d) >> k & 1) == l.negated)
            return false;
        return true;
      };
      Machine sequential(p, std::vector<int64_t>(p.buffers.size(), 1));
      for (int64_t k = 0; k < n; ++k)
        for (StatementId s = 0; s < p.statements.size(); ++s)
          if (exists(s, k))
            sequential.writes(s, k, sequential.reads(s, k));
      ++runs;
      if (runScheduled(p, order, versions, n, random, exists) != sequential.result(n))
        return printInstance(i) + "n=" + std::to_string(n);
    }
  return "";
}

TEST(Values, AcceptedSchedulesComputeTheSame) {
  RandomLoops random(2718);
  int loops = 0, staged = 0, asynchronous = 0, runs = 0;
  for (int trial = 0; loops < 1200; ++trial) {
    ASSERT_LT(trial, 50000);
    Instance i = random.instance();
    const Problem &p = i.problem;
    if (!checkProblem(p).empty())
      continue;
    Verdict verdict = verifySchedule(p, *i.schedule);
    if (!verdict.legal())
      continue;
    ++loops;
    staged += i.schedule->numStages() > 1;
    asynchronous += std::any_of(p.statements.begin(), p.statements.end(),
                                [](const Statement &s) { return s.async; });
    ASSERT_EQ(firstDifference(i, verdict.versions, random, runs), "");
  }
  std::cout << "loops=" << loops << " staged=" << staged << " asynchronous=" << asynchronous
            << " runs=" << runs << "\n";
  EXPECT_GT(staged, 300);
  EXPECT_GT(asynchronous, 200);
}

/// The comparison has teeth: with a rule weakened it finds wrong values.
TEST(Values, WeakenedRulesComputeSomethingElse) {
  for (Rule rule : {Rule::ReadAfterWrite, Rule::WriteAfterRead, Rule::WriteAfterWrite,
                    Rule::SameIteration, Rule::CarriedPairs, Rule::Completion, Rule::CountedBinding,
                    Rule::Versionable, Rule::VersionOrder, Rule::StatedVersions, Rule::ScalarStage,
                    Rule::ScalarOrder, Rule::GuardDistance}) {
    RandomLoops random(31415);
    int runs = 0;
    bool found = false;
    for (int trial = 0; trial < 40000 && !found; ++trial) {
      Instance i = random.instance();
      if (!checkProblem(i.problem).empty())
        continue;
      Verdict weak = verifySchedule(i.problem, *i.schedule, RuleSet::without(rule));
      // Only what the full checker decides differently can differ.
      if (!weak.legal())
        continue;
      Verdict full = verifySchedule(i.problem, *i.schedule);
      bool sameVersions = full.versions.size() == weak.versions.size();
      for (size_t b = 0; sameVersions && b < full.versions.size(); ++b)
        sameVersions = full.versions[b].count == weak.versions[b].count;
      if (full.legal() && sameVersions)
        continue;
      found = !firstDifference(i, weak.versions, random, runs).empty();
    }
    EXPECT_TRUE(found) << allRules()[size_t(rule)].name;
  }
}

} // namespace
