//===- VerifySchedule.cpp - Does a schedule keep every rule ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/VerifySchedule.h"
#include "Diagnostics/Codes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace penstock::sched {
namespace {

class Verifier {
public:
  Verifier(const LoopModel &model, const Schedule &schedule)
      : model(model), problem(model.problem), schedule(schedule) {}

  Verdict run() {
    if (!checkForm())
      return std::move(verdict);
    Order relation(model, schedule);
    order = &relation;
    verdict.versions = versions(relation);
    checkStatedVersions();
    checkHazards();
    checkWaits();
    checkSettled();
    checkCommits();
    checkGroups();
    checkFences();
    checkScalars();
    for (const Overflow &overflow : overflows(problem, verdict.versions)) {
      Violation &v = add(VersionsDoNotFit, none, none);
      v.buffer = overflow.largest;
      v.overflow = overflow;
    }
    return std::move(verdict);
  }

private:
  Violation &add(unsigned code, StatementId first, StatementId second, StatementId third = none) {
    Violation violation;
    violation.code = code;
    violation.first = first;
    violation.second = second;
    violation.third = third;
    verdict.violations.push_back(violation);
    return verdict.violations.back();
  }
  bool has(Rule rule) const { return model.rules.has(rule); }

  bool checkForm();
  void checkStatedVersions();
  void checkHazards();
  void checkHazard(const Pair &pair);
  void checkWaits();
  void checkSettled();
  void checkCommits();
  void checkGroups();
  void checkFences();
  bool fenced(const Pair &pair, int64_t d, StatementId &moved) const;
  void checkScalars();

  const LoopModel &model;
  const Problem &problem;
  const Schedule &schedule;
  const Order *order = nullptr;
  Verdict verdict;
  /// Buffers that go wrong between different iterations.
  std::set<BufferId> carriedHazard;
  /// One message per pair of statements and buffer is enough.
  std::set<std::tuple<unsigned, StatementId, StatementId, BufferId>> said;
};

bool Verifier::checkForm() {
  size_t count = problem.statements.size();
  if (schedule.stage.size() != count || schedule.order.size() != count) {
    add(ScheduleLength, none, none);
    return false;
  }
  for (StatementId s = 0; s < count; ++s)
    if (schedule.stage[s] < 0 || schedule.stage[s] > maxStage)
      add(StageOutOfRange, s, none);
  std::map<int64_t, StatementId> seen;
  if (has(Rule::OrderUnique))
    for (StatementId s = 0; s < count; ++s)
      if (auto [at, fresh] = seen.emplace(schedule.order[s], s); !fresh)
        add(OrderTwice, at->second, s);
  return verdict.legal();
}

void Verifier::checkStatedVersions() {
  for (BufferId b = 0; b < problem.buffers.size(); ++b) {
    unsigned stated = problem.buffers[b].statedVersions;
    const BufferVersions &v = verdict.versions[b];
    if (stated > 1 && !model.versionable[b]) {
      Violation &violation = add(VersionsOnFixed, none, none);
      violation.buffer = b;
      violation.versionsNeeded = 1;
      violation.versionsHave = stated;
    } else if (model.versionable[b] && stated && stated < v.needed && has(Rule::StatedVersions)) {
      // checkHazards names the pair if it really goes wrong; where regions
      // move, a smaller number may give right values and is refused all the
      // same.
      Violation &violation = add(VersionsTooFew, v.first, v.second);
      violation.buffer = b;
      violation.distance = stated;
      violation.versionsNeeded = v.needed;
      violation.versionsHave = stated;
    }
  }
}

void Verifier::checkHazard(const Pair &pair) {
  unsigned code = !pair.secondWrites ? ReadBeforeWrite
                  : pair.firstWrites ? WriteBeforeWrite
                                     : WriteBeforeRead;
  Rule rule = !pair.secondWrites ? Rule::ReadAfterWrite
              : pair.firstWrites ? Rule::WriteAfterWrite
                                 : Rule::WriteAfterRead;
  if (!has(rule) || (pair.first == pair.second && !has(Rule::SelfPairs)))
    return;
  if (pair.exclusiveGuards && !has(Rule::GuardDistance))
    return;
  const BufferVersions &v = verdict.versions[pair.buffer];
  bool versioned = model.versionable[pair.buffer];
  // From the needed number on, the distance has put the pair in order.
  int64_t beyond = versioned && v.count >= v.needed
                       ? 0
                       : order->completion(pair.first, pair.firstWrites).step -
                             order->issue(pair.second).step + 1;
  beyond = std::min(std::max<int64_t>(beyond, 0), maxDistance);
  for (int64_t d = 0; d <= beyond; d += versioned ? v.count : 1) {
    if (!has(d == 0 ? Rule::SameIteration : Rule::CarriedPairs))
      continue;
    if (versioned && d > 0 && v.count < v.needed && !has(Rule::StatedVersions))
      return;
    if (!pair.occursAt(d) || order->inOrder(pair, d))
      continue;
    if (d > 0)
      carriedHazard.insert(pair.buffer);
    // The smallest distance says it all, once per pair of statements.
    if (!said.insert({code, pair.first, pair.second, pair.buffer}).second)
      continue;
    Violation &violation = add(code, pair.first, pair.second);
    violation.buffer = pair.buffer;
    violation.distance = d;
    violation.third = order->completedBy(pair.first, pair.firstWrites).wait;
    if (versioned) {
      violation.versionsNeeded = v.needed;
      violation.versionsHave = v.count;
    }
  }
}

void Verifier::checkHazards() {
  for (const Pair &pair : model.pairs)
    checkHazard(pair);
  // A stated number that is too small and does go wrong is reported as the
  // hazard that it causes.
  std::erase_if(verdict.violations, [&](const Violation &v) {
    return v.code == VersionsTooFew && carriedHazard.count(v.buffer);
  });
}

void Verifier::checkWaits() {
  if (!has(Rule::WaitAfterIssue))
    return;
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    for (auto *waits : {&model.readWaits[s], &model.writeWaits[s], &model.commitWaits[s]})
      for (const Completion &by : *waits) {
        if (order->issue(s) < order->issue(by.wait).later(by.distance) ||
            !said.insert({WaitBeforeIssue, s, by.wait, none}).second)
          continue;
        add(WaitBeforeIssue, s, by.wait, by.wait).distance = by.distance;
      }
}

/// Checks operations issued before the loop: an access to their tiles that follows the first wait
/// for them in source order must follow it in the schedule.
void Verifier::checkSettled() {
  if (!has(Rule::WaitBefore))
    return;
  auto in = [](Region region, int64_t iteration) {
    for (AffineInterval &x : region.box) {
      x.offset += x.scale * iteration;
      x.scale = 0;
    }
    return region;
  };
  for (StatementId w = 0; w < problem.statements.size(); ++w)
    for (const Access &before : problem.statements[w].settles)
      for (StatementId s = 0; s < problem.statements.size(); ++s)
        for (const Access &after : problem.statements[s].accesses) {
          if (s == w || after.buffer != before.buffer || !(before.write || after.write))
            continue;
          // Later iterations run in later steps than the wait.
          for (int64_t k = s > w ? 0 : 1; k <= schedule.stage[w]; ++k) {
            if (order->issue(w) < order->issue(s).later(k) ||
                !overlapAt(in(before.region, 0), in(after.region, k), 0))
              continue;
            unsigned code = !after.write   ? ReadBeforeWrite
                            : before.write ? WriteBeforeWrite
                                           : WriteBeforeRead;
            if (!said.insert({code, w, s, after.buffer}).second)
              break;
            Violation &v = add(code, none, s, w);
            v.buffer = after.buffer;
            v.distance = k;
            break;
          }
        }
}

void Verifier::checkCommits() {
  for (StatementId c = 0; c < problem.statements.size(); ++c) {
    if (problem.statements[c].kind != StatementKind::Commit)
      continue;
    int64_t first = schedule.order[c];
    StatementId firstMember = none;
    for (StatementId s = 0; s < c; ++s) {
      if (model.commitOf[s] != c)
        continue;
      if (schedule.stage[s] != schedule.stage[c] && has(Rule::CommitStage))
        add(CommitOtherStage, s, c, c);
      if (schedule.order[s] > schedule.order[c] && has(Rule::CommitOrder))
        add(CommitBeforeGroup, s, c, c);
      if (schedule.order[s] < first) {
        first = schedule.order[s];
        firstMember = s;
      }
    }
    if (firstMember == none || !has(Rule::CommitAlone))
      continue;
    // All statements of a step share one instruction stream, so the order alone
    // decides what lies between, whatever the stages.
    for (StatementId s = 0; s < problem.statements.size(); ++s) {
      const Statement &other = problem.statements[s];
      bool inQueue = other.queue == problem.statements[c].queue &&
                     (other.async || other.kind == StatementKind::Commit);
      if (s != c && inQueue && model.commitOf[s] != c && schedule.order[s] > first &&
          schedule.order[s] < schedule.order[c])
        add(CommitNotAlone, firstMember, s, c);
    }
  }
}

/// Groups without a commit of their own: the compiler commits after the last
/// member, so all of them run in one step with no member of another group
/// between the first and the last.
void Verifier::checkGroups() {
  std::map<int64_t, std::vector<StatementId>> groups;
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    if (problem.statements[s].group >= 0)
      groups[problem.statements[s].group].push_back(s);
  for (auto &[number, members] : groups) {
    auto [first, last] =
        std::minmax_element(members.begin(), members.end(), [&](StatementId a, StatementId b) {
          return schedule.order[a] < schedule.order[b];
        });
    for (StatementId s : members)
      if (schedule.stage[s] != schedule.stage[members.front()] && has(Rule::CommitStage))
        add(CommitOtherStage, members.front(), s);
    for (auto &[other, strangers] : groups)
      for (StatementId s : strangers)
        if (other != number && schedule.order[s] > schedule.order[*first] &&
            schedule.order[s] < schedule.order[*last] && has(Rule::CommitAlone))
          add(CommitNotAlone, *first, s, *last);
  }
}

/// Is the pair still separated by a fence, if it was in source order? An
/// instance of a fence that stood between them must be matched by one that
/// stands between them now and exists whenever it does.
bool Verifier::fenced(const Pair &pair, int64_t d, StatementId &moved) const {
  std::vector<StatementId> fences;
  auto orders = [&](const Statement &fence) {
    auto has = [](const auto &list, auto x) {
      return list.empty() || std::find(list.begin(), list.end(), x) != list.end();
    };
    return has(fence.fenceFrom, pair.firstProxy) && has(fence.fenceTo, pair.secondProxy) &&
           has(fence.fenceSpaces, problem.buffers[pair.buffer].space);
  };
  for (StatementId f = 0; f < problem.statements.size(); ++f)
    if (problem.statements[f].kind == StatementKind::Fence && orders(problem.statements[f]))
      fences.push_back(f);
  Position start = order->completionFor(pair, d);
  Position stop = order->issue(pair.second).later(d);
  auto guardAt = [&](int64_t e) {
    Guard known;
    if (e == 0)
      known = problem.statements[pair.first].guard;
    if (e == d) {
      const Guard &second = problem.statements[pair.second].guard;
      known.insert(known.end(), second.begin(), second.end());
    }
    return known;
  };
  // A fence without a condition that stands between them answers for all.
  for (StatementId g : fences) {
    if (!problem.statements[g].guard.empty())
      continue;
    Position at = order->issue(g);
    int64_t first = std::max<int64_t>(0, start.step - at.step);
    if (at.later(first) <= start)
      ++first;
    if (first <= d && at.later(first) < stop)
      return true;
  }
  for (StatementId f : fences)
    for (int64_t e = 0; e <= d; ++e) {
      bool separated = (e > 0 || f > pair.first) && (e < d || f < pair.second);
      const Guard &guard = problem.statements[f].guard;
      if (!separated || exclusive(guardAt(e), guard))
        continue;
      bool kept = std::any_of(fences.begin(), fences.end(), [&](StatementId g) {
        for (int64_t at = 0; at <= d; ++at) {
          Position here = order->issue(g).later(at);
          if (!(start < here && here < stop))
            continue;
          Guard known = guardAt(at);
          if (at == e)
            known.insert(known.end(), guard.begin(), guard.end());
          if (implies(known, problem.statements[g].guard))
            return true;
        }
        return false;
      });
      if (!kept) {
        moved = f;
        return false;
      }
    }
  return true;
}

void Verifier::checkFences() {
  bool any = std::any_of(problem.statements.begin(), problem.statements.end(),
                         [](const Statement &s) { return s.kind == StatementKind::Fence; });
  if (!any || !has(Rule::FenceKept))
    return;
  int64_t spread = schedule.numStages();
  for (const Pair &pair : model.pairs) {
    bool versioned = model.versionable[pair.buffer];
    // Further apart than this, whole steps lie between completion and issue,
    // and every fence has an instance there.
    int64_t done = order->completion(pair.first, pair.firstWrites).step;
    int64_t beyond = std::min(done + 2 * spread + 2, maxDistance);
    for (int64_t d = 0; d <= beyond; d += versioned ? verdict.versions[pair.buffer].count : 1) {
      StatementId moved = none;
      // If the pair itself is out of order, that is the reported error.
      if (!pair.occursAt(d) || !order->inOrder(pair, d) || fenced(pair, d, moved))
        continue;
      if (said.insert({FenceMoved, pair.first, pair.second, pair.buffer}).second) {
        Violation &v = add(FenceMoved, pair.first, pair.second, moved);
        v.buffer = pair.buffer;
        v.distance = d;
      }
      break;
    }
  }
}

void Verifier::checkScalars() {
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    for (StatementId user : problem.statements[s].users) {
      if (schedule.stage[s] != schedule.stage[user]) {
        if (has(Rule::ScalarStage))
          add(ScalarOtherStage, s, user);
      } else if (schedule.order[s] > schedule.order[user] && has(Rule::ScalarOrder)) {
        add(ScalarBeforeUse, s, user);
      }
    }
}

} // namespace

Verdict verifySchedule(const LoopModel &model, const Schedule &schedule) {
  return Verifier(model, schedule).run();
}

Verdict verifySchedule(const Problem &problem, const Schedule &schedule, RuleSet rules) {
  LoopModel model(problem, rules);
  return verifySchedule(model, schedule);
}

} // namespace penstock::sched
