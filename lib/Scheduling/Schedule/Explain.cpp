//===- Explain.cpp - Why a loop became what it is -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Explain.h"
#include "Scheduling/Schedule/Report.h"

#include <algorithm>
#include <map>

namespace penstock::sched {
namespace {

class Explainer {
public:
  Explainer(const Problem &problem, const Schedule &schedule, const RoleAssignment &roles)
      : problem(problem), schedule(schedule), roles(roles), model(problem), order(model, schedule),
        verdict(verifySchedule(model, schedule)) {}

  Explanation run() {
    result.loop = problem.name;
    result.location = problem.location;
    result.stages = schedule.numStages();
    result.roles = roles.names;
    statements();
    buffers();
    bool timed = std::any_of(problem.statements.begin(), problem.statements.end(),
                             [](const Statement &s) { return s.busy > 0 || s.latency > 0; });
    if (timed) {
      result.interval = predictedInterval(problem, schedule, roles);
      bounds();
      deeper();
    }
    return std::move(result);
  }

private:
  void statements();
  std::string completion(StatementId s, const std::vector<ImplicitWait> &waits) const;
  void buffers();
  void bounds();
  void deeper();
  void tryPlan(std::string change, const Problem &p, const Schedule &s);
  std::string name(StatementId s) const { return "`" + problem.statements[s].name + "`"; }

  const Problem &problem;
  const Schedule &schedule;
  const RoleAssignment &roles;
  LoopModel model;
  Order order;
  Verdict verdict;
  Explanation result;
};

std::string Explainer::completion(StatementId s, const std::vector<ImplicitWait> &waits) const {
  if (!problem.statements[s].async)
    return "at once";
  std::string out;
  auto add = [&](const std::string &text) {
    if (out.find(text) == std::string::npos)
      out += (out.empty() ? "" : "; ") + text;
  };
  Completion reads = order.completedBy(s, false);
  Completion writes = order.completedBy(s, true);
  for (const Completion &by : {reads, writes})
    if (by.wait != none)
      add("at " + name(by.wait) + " of " + iterationName(by.distance));
  for (const ImplicitWait &w : waits)
    if (w.statement == s)
      add(w.before == none ? "at the end of the loop"
                           : "before " + name(w.before) + " of " + iterationName(w.distance));
  return out.empty() ? "at once" : out;
}

void Explainer::statements() {
  std::vector<ImplicitWait> waits = implicitWaits(order, verdict.versions);
  for (StatementId s = 0; s < problem.statements.size(); ++s) {
    const Statement &statement = problem.statements[s];
    result.statements.push_back({statement.name, statement.location, schedule.stage[s],
                                 schedule.order[s], statement.engine, roles.names[roles.roleOf[s]],
                                 statement.busy, statement.latency, completion(s, waits)});
  }
}

void Explainer::buffers() {
  std::map<Space, int64_t> used;
  for (BufferId b = 0; b < problem.buffers.size(); ++b) {
    const Buffer &buffer = problem.buffers[b];
    const BufferVersions &v = verdict.versions[b];
    if (buffer.space == Space::Global)
      continue;
    ExplainedBuffer e{buffer.name, buffer.space, v.count, v.needed, buffer.bytes, ""};
    if (!model.versionable[b])
      e.why = model.fixedBecause[b];
    else if (v.needed > 1)
      e.why = name(v.first) + " of k must end before " + name(v.second) + " of " +
              iterationName(v.needed) + " reuses the slot";
    else
      e.why = "one iteration is done with it before the next begins";
    if (v.count > v.needed)
      e.why += "; " + std::to_string(v.count) + " are stated";
    used[buffer.space] += buffer.bytes * v.count;
    result.buffers.push_back(std::move(e));
  }
  for (auto [space, size] : used)
    if (size || problem.capacityOf(space))
      result.spaces.push_back({space, size, problem.capacityOf(space)});
}

void Explainer::bounds() {
  std::map<std::string, int64_t> load;
  for (const Statement &s : problem.statements)
    if (!s.engine.empty())
      load[s.engine] += s.busy;
  for (auto &[engine, cycles] : load)
    if (cycles > result.busiestCycles) {
      result.busiestEngine = engine;
      result.busiestCycles = cycles;
    }
  EventGraph graph = scheduleGraph(problem, schedule, roles);
  if (auto critical = maximumCycleRatio(graph)) {
    result.circleRatio = critical->ratio;
    result.circleIterations = critical->cycle.distance;
    // A circle has no beginning; the first statement in source order will do.
    std::vector<unsigned> events;
    for (unsigned e : critical->cycle.edges)
      events.push_back(graph.edges[e].to);
    std::rotate(events.begin(), std::min_element(events.begin(), events.end()), events.end());
    for (unsigned e : events)
      result.circle.push_back(graph.events[e].name);
  }
  Rational interval = *result.interval;
  std::string cycles = interval.str() + " cycles per iteration";
  if (result.busiestCycles && interval == Rational{result.busiestCycles, 1}) {
    result.boundBy = "bound by the " + result.busiestEngine +
                     " engine: " + std::to_string(result.busiestCycles) + " of " + cycles;
    return;
  }
  std::string path;
  for (const std::string &event : result.circle)
    path += (path.empty() ? "" : " -> ") + event;
  if (result.circleRatio && interval == *result.circleRatio)
    result.boundBy = "bound by a dependence cycle over " + std::to_string(result.circleIterations) +
                     (result.circleIterations == 1 ? " iteration" : " iterations") + ": " + cycles +
                     " (" + path + ")";
  else
    result.boundBy = cycles + "; the " + result.busiestEngine + " engine alone needs " +
                     std::to_string(result.busiestCycles) + ", the slowest dependence cycle " +
                     (result.circleRatio ? result.circleRatio->str() : std::string("0")) +
                     ": engines are shared between them";
}

void Explainer::tryPlan(std::string change, const Problem &p, const Schedule &s) {
  DeeperPlan plan;
  plan.change = std::move(change);
  LoopModel other(p);
  Verdict verdict = verifySchedule(other, s);
  for (const Violation &v : verdict.violations)
    if (v.overflow.needed) {
      plan.fits = false;
      plan.space = v.overflow.space;
      plan.missing = v.overflow.needed - v.overflow.capacity;
    } else {
      plan.legal = false;
    }
  if (plan.legal && plan.fits)
    plan.interval = predictedInterval(p, s, roles);
  result.deeper.push_back(std::move(plan));
}

void Explainer::deeper() {
  // One more version of every tile that a copy fills ahead of its use.
  Problem more = problem;
  std::string names;
  for (BufferId b = 0; b < problem.buffers.size(); ++b) {
    bool filled = std::any_of(problem.statements.begin(), problem.statements.end(), [&](auto &s) {
      return s.kind == StatementKind::Copy &&
             std::any_of(s.accesses.begin(), s.accesses.end(),
                         [&](const Access &a) { return a.buffer == b && a.write; });
    });
    if (!filled || !model.versionable[b])
      continue;
    more.buffers[b].statedVersions = verdict.versions[b].count + 1;
    names += (names.empty() ? "" : ", ") + problem.buffers[b].name;
  }
  if (names.empty())
    return;
  tryPlan("one more version of " + names, more, schedule);
  // Consumers one step later, so that copies run one step further ahead.
  Schedule later = schedule;
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    if (schedule.stage[s] > 0)
      ++later.stage[s];
  if (later != schedule) {
    Problem free = problem;
    for (Buffer &b : free.buffers)
      b.statedVersions = 0;
    tryPlan("one more stage", free, later);
  }
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width)
    text.append(width - text.size(), ' ');
  return text;
}

} // namespace

Explanation explain(const Problem &problem, const Schedule &schedule, const RoleAssignment &roles) {
  return Explainer(problem, schedule, roles).run();
}

Explanation explain(const Problem &problem, const Schedule &schedule) {
  return explain(problem, schedule, oneRole(problem));
}

std::string renderExplanation(const Explanation &e) {
  std::string out = "loop " + e.loop;
  if (e.location.known())
    out += " " + e.location.file + ":" + std::to_string(e.location.line);
  out += "  " + std::to_string(e.stages) + (e.stages == 1 ? " stage" : " stages");
  if (e.roles.size() > 1) {
    out += ", " + std::to_string(e.roles.size()) + " roles: ";
    for (size_t i = 0; i < e.roles.size(); ++i)
      out += (i ? ", " : "") + e.roles[i];
  }
  out += "\n";
  size_t wide = 9;
  for (const ExplainedStatement &s : e.statements)
    wide = std::max(wide, s.name.size());
  out += "  #  " + padded("statement", wide) + "  stage  order  engine    cycles       completes\n";
  for (size_t i = 0; i < e.statements.size(); ++i) {
    const ExplainedStatement &s = e.statements[i];
    std::string cycles;
    if (s.busy || s.latency)
      cycles = std::to_string(s.busy) + " / " + std::to_string(s.latency);
    out += "  " + padded(std::to_string(i), 3) + padded(s.name, wide) + "  " +
           padded(std::to_string(s.stage), 7) + padded(std::to_string(s.order), 7) +
           padded(s.engine, 10) + padded(cycles, 13) + s.completes + "\n";
  }
  for (const ExplainedBuffer &b : e.buffers) {
    out += "  buffer " + b.name + ": " + std::to_string(b.versions) +
           (b.versions == 1 ? " version" : " versions");
    if (b.bytes)
      out += " x " + std::to_string(b.bytes) + (b.space == Space::Tensor ? " columns" : " bytes");
    out += std::string(" of ") + spaceName(b.space) + " memory; " + b.why + "\n";
  }
  for (const ExplainedSpace &s : e.spaces) {
    if (!s.used && !s.capacity)
      continue;
    out += std::string("  ") + spaceName(s.space) + " memory: " + sizeText(s.space, s.used);
    if (s.capacity)
      out += " of " + sizeText(s.space, s.capacity);
    out += "\n";
  }
  if (!e.boundBy.empty())
    out += "  " + e.boundBy + "\n";
  if (e.provenInterval)
    out += "  exact solver: no schedule takes fewer than " + std::to_string(*e.provenInterval) +
           " cycles per iteration, one for the issue of each asynchronous statement\n";
  if (e.provenInterval && e.inferredStages)
    out += "  taken: the inferred schedule of `num_stages = " + std::to_string(e.inferredStages) +
           "`, which is predicted to be faster, since its issues take no time\n";
  for (const DeeperPlan &d : e.deeper) {
    out += "  " + d.change;
    if (!d.fits)
      out += " does not fit: " + sizeText(d.space, d.missing) + " of " + spaceName(d.space) +
             " memory are missing";
    else if (!d.legal)
      out += " would break the schedule's rules";
    else if (e.interval && d.interval < *e.interval)
      out += " would fit and give " + d.interval.str() + " cycles per iteration";
    else
      out += " would fit and gain nothing";
    out += "\n";
  }
  return out;
}

} // namespace penstock::sched
