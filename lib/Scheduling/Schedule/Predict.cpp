//===- Predict.cpp - Simulation of a schedule -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Predict.h"

#include <algorithm>
#include <map>

namespace penstock::sched {
namespace {

/// Precondition of the issue of a statement: iteration k - distance of `first` has completed, or
/// only its time in an in-order queue has passed.
struct Need {
  StatementId first;
  int64_t distance;
  bool queued;
};

std::vector<std::vector<Need>> findNeeds(const Order &order, const Verdict &verdict) {
  const LoopModel &model = order.model;
  std::vector<std::vector<Need>> needs(model.problem.statements.size());
  std::map<std::pair<StatementId, StatementId>, std::map<int64_t, bool>> best;
  for (const Pair &pair : model.pairs) {
    const Statement &first = model.problem.statements[pair.first];
    const Statement &second = model.problem.statements[pair.second];
    bool queued = false;
    if (first.async && second.async && first.queue != none && first.queue == second.queue &&
        model.problem.queues[first.queue].inOrder) {
      const auto &orders = model.problem.queues[first.queue].orders;
      queued = std::find(orders.begin(), orders.end(), pair.buffer) != orders.end();
    }
    int64_t versions = verdict.versions[pair.buffer].count;
    auto add = [&](int64_t d) {
      auto [at, fresh] = best[{pair.first, pair.second}].emplace(d, queued);
      if (!fresh)
        at->second &= queued;
    };
    if (pair.occursAt(0))
      add(0);
    // The nearest later iteration in the same slot; further ones follow.
    for (int64_t d = versions; d <= maxDistance; d += versions)
      if (pair.occursAt(d)) {
        add(d);
        break;
      }
  }
  for (auto &[key, distances] : best)
    for (auto [d, queued] : distances)
      needs[key.second].push_back({key.first, d, queued});
  for (StatementId w = 0; w < model.problem.statements.size(); ++w)
    for (StatementId s = 0; s < model.problem.statements.size(); ++s)
      for (bool writes : {false, true})
        for (const Completion &by : model.waits(s, writes))
          if (by.wait == w)
            needs[w].push_back({s, by.distance, false});
  return needs;
}

/// The cycles in which an engine is taken, with the first gap that fits.
class EngineTime {
public:
  int64_t reserve(int64_t from, int64_t length) {
    if (length == 0)
      return from;
    int64_t at = from;
    auto next = taken.lower_bound(from);
    if (next != taken.begin())
      at = std::max(at, std::prev(next)->second);
    while (next != taken.end() && next->first < at + length) {
      at = std::max(at, next->second);
      ++next;
    }
    taken[at] = at + length;
    return at;
  }

private:
  std::map<int64_t, int64_t> taken;
};

class Simulation {
public:
  Simulation(const Problem &problem, const Schedule &schedule, const RoleAssignment &roles)
      : problem(problem), schedule(schedule), roles(roles), model(problem), order(model, schedule),
        verdict(verifySchedule(model, schedule)), needs(findNeeds(order, verdict)) {}

  InstanceTimes run(int64_t iterations) {
    size_t count = problem.statements.size();
    InstanceTimes times(count, std::vector<Times>(iterations));
    std::vector<int64_t> roleFree(roles.names.size(), 0);
    std::map<std::string, EngineTime> engines;
    // An engine serves each role in the order of issue.
    std::map<std::pair<unsigned, std::string>, int64_t> served;
    std::vector<StatementId> byOrder(count);
    for (StatementId s = 0; s < count; ++s)
      byOrder[s] = s;
    std::sort(byOrder.begin(), byOrder.end(),
              [&](auto a, auto b) { return schedule.order[a] < schedule.order[b]; });
    for (int64_t step = 0; step < iterations + schedule.numStages(); ++step)
      for (StatementId s : byOrder) {
        int64_t k = step - schedule.stage[s];
        if (k < 0 || k >= iterations)
          continue;
        const Statement &statement = problem.statements[s];
        Times &t = times[s][k];
        int64_t &free = roleFree[roles.roleOf[s]];
        t.waitFrom = t.issue = free;
        for (const Need &need : needs[s]) {
          int64_t from = k - need.distance;
          if (from < 0 || from >= iterations)
            continue;
          const Times &other = times[need.first][from];
          int64_t at = need.queued ? other.start + problem.statements[need.first].busy : other.done;
          // An in-order queue takes the statement at once and starts it later.
          if (need.queued) {
            t.start = std::max(t.start, at);
            at = other.issue;
          }
          if (at > t.issue) {
            t.issue = at;
            t.waitFor = need.first;
            t.waitForIteration = from;
          }
        }
        t.start = std::max(t.start, t.issue);
        int64_t busy = statement.engine.empty() ? 0 : statement.busy;
        if (!statement.engine.empty()) {
          int64_t &last = served[{roles.roleOf[s], statement.engine}];
          t.start = engines[statement.engine].reserve(std::max(t.start, last), busy);
          last = t.start + busy;
        }
        t.done = t.start + std::max(statement.busy, statement.latency);
        free = statement.async ? t.issue : t.done;
      }
    return times;
  }

  const Problem &problem;
  const Schedule &schedule;
  const RoleAssignment &roles;
  LoopModel model;
  Order order;
  Verdict verdict;
  std::vector<std::vector<Need>> needs;
};

} // namespace

RoleAssignment oneRole(const Problem &problem) {
  return {std::vector<unsigned>(problem.statements.size(), 0), {"all"}};
}

InstanceTimes predictTimes(const Problem &problem, const Schedule &schedule, int64_t iterations,
                           const RoleAssignment &roles) {
  return Simulation(problem, schedule, roles).run(iterations);
}

Rational predictedInterval(const Problem &problem, const Schedule &schedule,
                           const RoleAssignment &roles) {
  // Such a system repeats itself in the end, every one or every few iterations.
  // The start-up can be long where two bounds are close to each other.
  constexpr int64_t iterations = 1000, longestPeriod = 24;
  InstanceTimes times = predictTimes(problem, schedule, iterations, roles);
  if (times.empty())
    return {};
  auto repeats = [&](int64_t period) {
    int64_t gain = times[0][iterations - 1].start - times[0][iterations - 1 - period].start;
    for (auto &of : times)
      for (int64_t k = iterations - 2 * period; k < iterations; ++k)
        if (of[k].start - of[k - period].start != gain)
          return false;
    return true;
  };
  int64_t period = 1;
  while (period < longestPeriod && !repeats(period))
    ++period;
  return Rational::of(times[0][iterations - 1].start - times[0][iterations - 1 - period].start,
                      period);
}

EventGraph scheduleGraph(const Problem &problem, const Schedule &schedule,
                         const RoleAssignment &roles) {
  Simulation simulation(problem, schedule, roles);
  EventGraph graph;
  size_t count = problem.statements.size();
  // Event s is the issue of a statement, event count + s its completion.
  for (const Statement &s : problem.statements)
    graph.add(s.name, s.location);
  for (StatementId s = 0; s < count; ++s) {
    const Statement &statement = problem.statements[s];
    graph.add(statement.name + " done", statement.location);
    graph.edge(s, unsigned(count + s), 0, std::max(statement.busy, statement.latency));
  }
  for (size_t role = 0; role < roles.names.size(); ++role) {
    std::vector<StatementId> mine;
    for (StatementId s = 0; s < count; ++s)
      if (roles.roleOf[s] == role)
        mine.push_back(s);
    std::sort(mine.begin(), mine.end(),
              [&](auto a, auto b) { return schedule.order[a] < schedule.order[b]; });
    for (size_t i = 0; i < mine.size(); ++i) {
      bool last = i + 1 == mine.size();
      StatementId u = mine[i], v = mine[last ? 0 : i + 1];
      const Statement &statement = problem.statements[u];
      graph.edge(u, v, schedule.stage[u] - schedule.stage[v] + (last ? 1 : 0),
                 statement.async ? 0 : std::max(statement.busy, statement.latency));
    }
  }
  for (StatementId s = 0; s < count; ++s)
    for (const Need &need : simulation.needs[s])
      graph.edge(need.queued ? need.first : unsigned(count + need.first), s, need.distance, 0,
                 true);
  return graph;
}

} // namespace penstock::sched
