//===- Infer.cpp - From num_stages to stage and order ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Infer.h"
#include "Diagnostics/Codes.h"
#include "Scheduling/Schedule/Report.h"

#include <algorithm>

namespace penstock::sched {
namespace {

/// Statements that run ahead: the copies, and what only they need.
class Planner {
public:
  explicit Planner(const LoopModel &model) : model(model), problem(model.problem) {
    findAhead();
    findUnits();
    findLastUses();
  }

  bool nothingAhead() const {
    return std::none_of(ahead.begin(), ahead.end(), [](bool b) { return b; });
  }
  bool isAhead(StatementId s) const { return ahead[s]; }
  StatementId unitOf(StatementId s) const { return unit[s]; }

  /// Prefetch distance of the copies of each unit, and the statement after which they are issued,
  /// if that is later than their last use.
  struct Leads {
    std::vector<int64_t> steps;
    std::vector<StatementId> notBefore;
  };
  Leads leads(int64_t steps) const {
    size_t count = problem.statements.size();
    return {std::vector<int64_t>(count, steps), std::vector<StatementId>(count, none)};
  }
  StatementId anchor(StatementId s, const Leads &lead) const {
    StatementId later = lead.notBefore[unit[s]];
    return later != none && (lastUse[s] == none || later > lastUse[s]) ? later : lastUse[s];
  }

  Schedule plan(const Leads &lead) const;
  /// The same, with the front rotation of the rule.
  Schedule rule(int64_t numStages) const;

private:
  bool readsFrom(StatementId reader, StatementId writer) const;
  bool feedsOnlyAhead(StatementId s) const;
  void findAhead();
  void findUnits();
  void findLastUses();
  StatementId endOfReads(StatementId s) const;

  const LoopModel &model;
  const Problem &problem;
  std::vector<bool> ahead;
  std::vector<StatementId> lastCopyInto; ///< per buffer
  std::vector<StatementId> unit;         ///< representative; none for consumers
  std::vector<StatementId> lastUse;      ///< the statement after which it is issued
};

/// Does \p reader use what \p writer made in the same iteration?
bool Planner::readsFrom(StatementId reader, StatementId writer) const {
  const auto &users = problem.statements[writer].users;
  if (std::find(users.begin(), users.end(), reader) != users.end())
    return true;
  return std::any_of(model.pairs.begin(), model.pairs.end(), [&](auto &p) {
    return p.first == writer && p.second == reader && p.firstWrites && !p.secondWrites &&
           p.occursAt(0);
  });
}

/// A statement may stay with the copies if nobody else needs it: every
/// statement that reads what it wrote runs ahead as well, or reads a tile that
/// a later copy writes too (a fill under a partial copy); and what it reads
/// must be there as early.
bool Planner::feedsOnlyAhead(StatementId s) const {
  for (StatementId user : problem.statements[s].users)
    if (!ahead[user])
      return false;
  for (const Pair &pair : model.pairs) {
    if (pair.second == s && pair.firstWrites && !pair.secondWrites && !ahead[pair.first] &&
        pair.occursAt(0))
      return false;
    if (pair.first != s || !pair.firstWrites || pair.secondWrites || pair.second == s ||
        ahead[pair.second])
      continue;
    StatementId copy = lastCopyInto[pair.buffer];
    if (copy == none || copy < s)
      return false;
  }
  return true;
}

void Planner::findAhead() {
  size_t count = problem.statements.size();
  ahead.resize(count);
  lastCopyInto.assign(problem.buffers.size(), none);
  for (StatementId s = 0; s < count; ++s)
    if (problem.statements[s].kind == StatementKind::Copy) {
      ahead[s] = true;
      for (const Access &a : problem.statements[s].accesses)
        if (a.write)
          lastCopyInto[a.buffer] = s;
    }
  // Everything that leads to a copy may join, then those leave again that
  // somebody else needs; what remains is the largest set that may stay.
  auto mayJoin = [&](StatementId s) {
    StatementKind kind = problem.statements[s].kind;
    return kind == StatementKind::Compute || kind == StatementKind::Scalar;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Pair &p : model.pairs)
      if (!ahead[p.first] && ahead[p.second] && p.firstWrites && p.occursAt(0) && mayJoin(p.first))
        changed = ahead[p.first] = true;
    for (StatementId s = 0; s < count; ++s)
      for (StatementId user : problem.statements[s].users)
        if (!ahead[s] && ahead[user])
          changed = ahead[s] = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (StatementId s = 0; s < count; ++s)
      if (ahead[s] && problem.statements[s].kind != StatementKind::Copy && !feedsOnlyAhead(s)) {
        ahead[s] = false;
        changed = true;
      }
  }
  // A commit goes with its group.
  for (StatementId s = 0; s < count; ++s)
    if (model.commitOf[s] != none && ahead[s])
      ahead[model.commitOf[s]] = true;
  for (StatementId s = 0; s < count; ++s)
    if (model.commitOf[s] != none && !ahead[s])
      ahead[model.commitOf[s]] = false;
}

/// Statements that must keep one stage share a unit: helpers with the copies
/// that need them, commits with their groups.
void Planner::findUnits() {
  size_t count = problem.statements.size();
  unit.assign(count, none);
  for (StatementId s = 0; s < count; ++s)
    if (ahead[s])
      unit[s] = s;
  auto join = [&](StatementId a, StatementId b) {
    StatementId from = std::max(unit[a], unit[b]);
    StatementId to = std::min(unit[a], unit[b]);
    std::replace(unit.begin(), unit.end(), from, to);
  };
  for (StatementId s = 0; s < count; ++s) {
    if (!ahead[s])
      continue;
    if (model.commitOf[s] != none && ahead[model.commitOf[s]])
      join(s, model.commitOf[s]);
    for (StatementId other = 0; other < s; ++other)
      if (ahead[other] && problem.statements[s].group >= 0 &&
          problem.statements[other].group == problem.statements[s].group)
        join(s, other);
    if (problem.statements[s].kind == StatementKind::Copy)
      continue;
    for (const Pair &pair : model.pairs)
      if (pair.first == s && pair.firstWrites && ahead[pair.second] && pair.occursAt(0))
        join(s, pair.second);
    for (StatementId user : problem.statements[s].users)
      if (ahead[user])
        join(s, user);
  }
}

/// Returns the statement that completes the reads of \p s: its wait, if one is written.
StatementId Planner::endOfReads(StatementId s) const {
  StatementId end = s;
  for (const Completion &by : model.waits(s, false))
    end = std::max(end, by.wait);
  return end;
}

void Planner::findLastUses() {
  size_t count = problem.statements.size();
  lastUse.assign(count, none);
  for (StatementId s = count; s-- > 0;) {
    if (!ahead[s])
      continue;
    auto later = [&](StatementId use) {
      if (use != none && (lastUse[s] == none || use > lastUse[s]))
        lastUse[s] = use;
    };
    for (StatementId j = s + 1; j < count; ++j)
      if (readsFrom(j, s))
        later(ahead[j] ? lastUse[j] : endOfReads(j));
  }
  // Helpers and commits go where the first statement of their unit goes.
  StatementId lastConsumer = none;
  for (StatementId s = 0; s < count; ++s)
    if (!ahead[s])
      lastConsumer = s;
  for (StatementId s = 0; s < count; ++s) {
    if (!ahead[s] || problem.statements[s].kind == StatementKind::Copy)
      continue;
    StatementId first = none;
    for (StatementId c = 0; c < count; ++c)
      if (unit[c] == unit[s] && problem.statements[c].kind == StatementKind::Copy)
        first = std::min(first, lastUse[c]);
    lastUse[s] = first;
  }
  for (StatementId s = 0; s < count; ++s)
    if (ahead[s] && lastUse[s] == none)
      lastUse[s] = lastConsumer;
}

Schedule Planner::plan(const Leads &lead) const {
  size_t count = problem.statements.size();
  auto leadOf = [&](StatementId s) { return ahead[s] ? lead.steps[unit[s]] : 0; };
  int64_t deepest = 0;
  for (StatementId s = 0; s < count; ++s)
    deepest = std::max(deepest, leadOf(s));
  Schedule schedule;
  schedule.stage.resize(count);
  schedule.order.resize(count);
  int64_t next = 0;
  auto emit = [&](StatementId s) {
    schedule.stage[s] = deepest - leadOf(s);
    schedule.order[s] = next++;
  };
  for (StatementId s = 0; s < count; ++s) {
    if (leadOf(s) > 0)
      continue;
    emit(s);
    for (StatementId a = 0; a < count; ++a)
      if (leadOf(a) > 0 && anchor(a, lead) == s)
        emit(a);
  }
  // A last use that itself runs ahead, or no consumer at all.
  for (StatementId a = 0; a < count; ++a)
    if (StatementId at = leadOf(a) > 0 ? anchor(a, lead) : a;
        at == none || (at != a && leadOf(at) > 0))
      emit(a);
  return schedule;
}

Schedule Planner::rule(int64_t numStages) const {
  size_t count = problem.statements.size();
  Schedule schedule = plan(leads(numStages));
  int64_t copies = std::count(ahead.begin(), ahead.end(), true);
  int64_t consumers = int64_t(count) - copies;
  bool allLast = true;
  for (StatementId s = 0; s < count; ++s)
    allLast &= !ahead[s] || schedule.order[s] >= consumers;
  if (!allLast || numStages < 2)
    return schedule;
  // The copies of the next step may as well be written at the front.
  for (StatementId s = 0; s < count; ++s) {
    schedule.order[s] += ahead[s] ? -consumers : copies;
    schedule.stage[s] = ahead[s] ? 0 : numStages - 1;
  }
  return schedule;
}

bool onlyDoesNotFit(const Verdict &verdict) {
  return std::all_of(verdict.violations.begin(), verdict.violations.end(),
                     [](auto &v) { return v.code == VersionsDoNotFit; });
}

class Inference {
public:
  Inference(const Problem &problem, int64_t numStages)
      : model(problem), planner(model), problem(problem), numStages(numStages) {}

  Inferred run() {
    if (numStages < 1 || numStages > maxStage)
      return refuse(NumStagesTooSmall, "num_stages is " + std::to_string(numStages) +
                                           "; it must be between 1 and " +
                                           std::to_string(maxStage));
    if (planner.nothingAhead())
      return refuse(NothingToPipeline,
                    "nothing in this loop can be pipelined: it has no copy "
                    "that could run ahead",
                    "write a plain loop, or state stage and order");
    result.schedule = planner.rule(numStages);
    if (result.schedule->numStages() < 2)
      return refuse(NothingToPipeline,
                    "nothing in this loop can be pipelined: all of its statements copy, or write "
                    "what copies need, so that nothing is left for copies to run ahead of",
                    "write a plain loop, or state stage and order");
    result.verdict = verifySchedule(model, *result.schedule);
    if (!onlyDoesNotFit(result.verdict))
      return shallower();
    if (!result.verdict.legal())
      return doesNotFit();
    return std::move(result);
  }

private:
  Inferred refuse(unsigned code, std::string message, std::string help = "") {
    Diagnostic d;
    d.code = code;
    d.location = problem.location;
    d.message = std::move(message);
    if (!help.empty())
      d.helps.push_back(std::move(help));
    result.schedule.reset();
    result.diagnostics.push_back(std::move(d));
    return std::move(result);
  }
  Inferred doesNotFit();
  Inferred shallower();

  LoopModel model;
  Planner planner;
  const Problem &problem;
  int64_t numStages;
  Inferred result;
};

Inferred Inference::doesNotFit() {
  auto messages = toDiagnostics(problem, *result.schedule, result.verdict);
  int64_t fits = numStages - 1;
  while (fits > 0 && !verifySchedule(model, planner.rule(fits)).legal())
    --fits;
  for (Diagnostic &d : messages) {
    d.helps.clear();
    d.helps.push_back(fits ? "num_stages = " + std::to_string(fits) + " is the largest that fits"
                           : "not even num_stages = 1 fits; use smaller tiles");
    d.facts.emplace_back("num-stages-that-fit", std::to_string(fits));
  }
  result.schedule.reset();
  result.diagnostics = std::move(messages);
  return std::move(result);
}

Inferred Inference::shallower() {
  // The first violation of the plan that was asked for is the reason to give.
  Diagnostic reason =
      toDiagnostic(problem, *result.schedule, result.verdict, result.verdict.violations.front());
  Planner::Leads lead = planner.leads(numStages);
  auto leadOf = [&](StatementId s) {
    return s != none && planner.isAhead(s) ? lead.steps[planner.unitOf(s)] : 0;
  };
  // A copy that follows a consumer too early in its step is issued after it;
  // everything else can only be cured by running less far ahead. So the leads
  // sink to the largest that are legal together.
  while (true) {
    Schedule schedule = planner.plan(lead);
    Verdict verdict = verifySchedule(model, schedule);
    result.schedule = schedule;
    result.verdict = verdict;
    if (onlyDoesNotFit(verdict))
      break;
    bool moved = false;
    for (const Violation &v : verdict.violations) {
      StatementId end = v.third == none ? v.first : v.third;
      if (moved || v.second == none || leadOf(v.second) == 0 || leadOf(end) > 0 || end == none ||
          planner.anchor(v.second, lead) >= end)
        continue;
      lead.notBefore[planner.unitOf(v.second)] = end;
      moved = true;
    }
    if (moved)
      continue;
    StatementId victim = none;
    for (const Violation &v : verdict.violations)
      for (StatementId s : {v.second, v.first, v.third})
        if (leadOf(s) > 0 && (victim == none || leadOf(s) > leadOf(victim)))
          victim = s;
    if (victim != none) {
      --lead.steps[planner.unitOf(victim)];
      lead.notBefore[planner.unitOf(victim)] = none;
      continue;
    }
    bool any = false;
    for (int64_t &steps : lead.steps)
      if (steps > 0) {
        any = true;
        --steps;
      }
    if (!any) {
      // Even the loop as it is written breaks a rule.
      result.schedule.reset();
      result.diagnostics = toDiagnostics(problem, schedule, verdict);
      return std::move(result);
    }
  }
  int64_t stages = result.schedule->numStages();
  std::string asked = "num_stages = " + std::to_string(numStages);
  Diagnostic answer;
  answer.location = problem.location.known() ? problem.location : reason.location;
  answer.notes.push_back({reason.location, "with " + asked + ", " + reason.message, reason.label});
  answer.notes.insert(answer.notes.end(), reason.notes.begin(), reason.notes.end());
  answer.facts = reason.facts;
  if (stages == 1) {
    answer.code = NothingToPipeline;
    answer.message = "this loop cannot be pipelined";
    answer.helps = {"write a plain loop, or copy into a tile that each "
                    "iteration writes before it reads"};
    result.schedule.reset();
    result.diagnostics = {answer};
    return std::move(result);
  }
  if (!result.verdict.legal())
    return doesNotFit();
  answer.severity = Severity::Warning;
  answer.code = PlanShallower;
  StatementId least = none;
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    if (problem.statements[s].kind == StatementKind::Copy &&
        (least == none || leadOf(s) < leadOf(least)))
      least = s;
  auto iterations = [](int64_t n) {
    return std::to_string(n) + (n == 1 ? " iteration" : " iterations");
  };
  answer.message =
      "`" + problem.statements[least].name + "` " +
      (leadOf(least) ? "runs " + iterations(leadOf(least)) + " ahead" : "does not run ahead") +
      " of its uses; " + asked + " asks for " + iterations(numStages);
  result.diagnostics = {answer};
  return std::move(result);
}

} // namespace

Inferred infer(const Problem &problem, int64_t numStages) {
  return Inference(problem, numStages).run();
}

} // namespace penstock::sched
