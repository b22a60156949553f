//===- PredictedTimeline.cpp - Timelines of schedules ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/PredictedTimeline.h"

#include <algorithm>
#include <map>

using namespace penstock::sched;

namespace penstock::draw {

Timeline predictTimeline(const Problem &problem, const Schedule &schedule, int64_t iterations) {
  return predictTimeline(problem, schedule, iterations, oneRole(problem));
}

Timeline predictTimeline(const Problem &problem, const Schedule &schedule, int64_t iterations,
                         const RoleAssignment &roles) {
  Timeline timeline;
  timeline.title = problem.name;
  Rational interval = predictedInterval(problem, schedule, roles);
  timeline.interval = interval.ceil();
  InstanceTimes times = predictTimes(problem, schedule, iterations, roles);
  std::map<std::string, unsigned> rows;
  std::vector<int64_t> load;
  for (const Statement &s : problem.statements)
    if (!s.engine.empty() && !rows.count(s.engine)) {
      rows[s.engine] = unsigned(timeline.rows.size());
      timeline.rows.push_back({s.engine, ""});
      load.push_back(0);
    }
  for (const Statement &s : problem.statements)
    if (!s.engine.empty())
      load[rows[s.engine]] += s.busy;
  for (size_t r = 0; r < load.size(); ++r)
    if (interval.num > 0)
      timeline.rows[r].note =
          std::to_string(load[r] * interval.den * 100 / interval.num) + " % busy";
  std::map<unsigned, unsigned> waitRows;
  auto waitRow = [&](unsigned role) {
    auto [at, fresh] = waitRows.emplace(role, unsigned(timeline.rows.size()));
    if (fresh)
      timeline.rows.push_back({"warps", roles.names[role]});
    return at->second;
  };
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    for (int64_t k = 0; k < iterations; ++k) {
      const Statement &statement = problem.statements[s];
      const auto &t = times[s][k];
      if (t.issue > t.waitFrom)
        timeline.slices.push_back({Slice::Kind::Wait, waitRow(roles.roleOf[s]), statement.name, k,
                                   t.waitFrom, t.issue,
                                   "for " + problem.statements[t.waitFor].name + " " +
                                       std::to_string(t.waitForIteration)});
      if (statement.engine.empty())
        continue;
      unsigned row = rows[statement.engine];
      timeline.slices.push_back(
          {Slice::Kind::Work, row, statement.name, k, t.start, t.start + statement.busy, ""});
      if (t.done > t.start + statement.busy)
        timeline.slices.push_back(
            {Slice::Kind::Flight, row, statement.name, k, t.start + statement.busy, t.done, ""});
    }
  std::sort(timeline.slices.begin(), timeline.slices.end(), [](const Slice &a, const Slice &b) {
    return std::tie(a.start, a.row, a.end, a.name) < std::tie(b.start, b.row, b.end, b.name);
  });
  // The bracket goes over an iteration of the busiest engine in mid-run.
  if (iterations > 2) {
    size_t busiest = 0;
    for (size_t r = 0; r < load.size(); ++r)
      if (load[r] > load[busiest])
        busiest = r;
    for (StatementId s = 0; s < problem.statements.size(); ++s)
      if (!load.empty() && rows.count(problem.statements[s].engine) &&
          rows[problem.statements[s].engine] == busiest) {
        timeline.steadyFrom = times[s][iterations / 2].start;
        break;
      }
  }
  timeline.subtitle =
      std::to_string(schedule.numStages()) + " stages, " + interval.str() + " cycles per iteration";
  return timeline;
}

} // namespace penstock::draw
