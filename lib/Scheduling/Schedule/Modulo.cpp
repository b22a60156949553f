//===- Modulo.cpp - The shortest interval between iterations --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Schedule/Modulo.h"
#include "Diagnostics/Codes.h"

#include <algorithm>

namespace penstock::sched {
namespace {

int64_t modulo(int64_t a, int64_t m) { return ((a % m) + m) % m; }

int64_t ceilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -((-a) / b); }

} // namespace

std::vector<Diagnostic> checkModulo(const ModuloProblem &problem) {
  std::vector<Diagnostic> found;
  auto bad = [&](std::string message) {
    Diagnostic d;
    d.code = ProblemMalformed;
    d.message = std::move(message);
    found.push_back(std::move(d));
  };
  for (const ModuloOperation &op : problem.operations) {
    if (op.resource != none && op.resource >= problem.resources.size())
      bad("`" + op.name + "` runs on an unknown engine");
    if (op.busy < 0 || (op.resource != none && op.busy < 1))
      bad("`" + op.name + "` keeps its engine for less than a cycle");
  }
  for (const ModuloDependence &d : problem.dependences) {
    if (d.from >= problem.operations.size() || d.to >= problem.operations.size() ||
        (d.storage != none && d.storage >= problem.storages.size()))
      bad("a dependence names an unknown operation or storage");
    if (d.distance < 0 || d.latency < 0)
      bad("a dependence has a negative distance or latency");
  }
  for (const ModuloStorage &s : problem.storages)
    if (s.minVersions < 1 || s.maxVersions < s.minVersions || s.bytes < 0)
      bad("`" + s.name + "` has an impossible number of versions or size");
  if (!found.empty())
    return found;
  std::vector<unsigned> least;
  for (const ModuloStorage &s : problem.storages)
    least.push_back(s.minVersions);
  if (!versionsFit(problem, least)) {
    bad("the tiles do not fit in memory");
    found.back().code = VersionsDoNotFit;
  }
  // Within one iteration nothing may wait for itself.
  EventGraph graph;
  for (const ModuloOperation &op : problem.operations)
    graph.add(op.name);
  for (const ModuloDependence &d : problem.dependences)
    graph.edge(d.from, d.to, d.distance + (d.storage != none ? 1 : 0));
  if (findCycleWithoutToken(graph))
    bad("operations of one iteration depend on each other in a cycle");
  return found;
}

std::vector<std::string> verifyModulo(const ModuloProblem &problem,
                                      const ModuloSchedule &schedule) {
  std::vector<std::string> broken;
  if (schedule.interval < 1 || schedule.start.size() != problem.operations.size() ||
      schedule.versions.size() != problem.storages.size())
    return {"the schedule has the wrong form"};
  for (const ModuloDependence &d : problem.dependences) {
    int64_t distance = d.distance + (d.storage == none ? 0 : schedule.versions[d.storage]);
    if (schedule.start[d.to] + distance * schedule.interval < schedule.start[d.from] + d.latency)
      broken.push_back("`" + problem.operations[d.to].name + "` starts before `" +
                       problem.operations[d.from].name + "` is done");
  }
  for (size_t i = 0; i < problem.operations.size(); ++i) {
    const ModuloOperation &a = problem.operations[i];
    if (schedule.start[i] < 0)
      broken.push_back("`" + a.name + "` starts before the loop");
    if (a.resource == none)
      continue;
    if (a.busy > schedule.interval)
      broken.push_back("`" + a.name + "` is longer than the interval");
    for (size_t j = i + 1; j < problem.operations.size(); ++j) {
      const ModuloOperation &b = problem.operations[j];
      if (b.resource != a.resource)
        continue;
      int64_t gap = modulo(schedule.start[j] - schedule.start[i], schedule.interval);
      if (gap < a.busy || schedule.interval - gap < b.busy)
        broken.push_back("`" + a.name + "` and `" + b.name + "` use their engine at the same time");
      if (a.issue == none || b.issue == none)
        continue;
      int64_t turns = (schedule.start[j] - schedule.start[i] - gap) / schedule.interval;
      int64_t apart = schedule.start[b.issue] - schedule.start[a.issue] - turns * schedule.interval;
      if (apart < 0 || apart > schedule.interval)
        broken.push_back("`" + a.name + "` and `" + b.name + "` run in another order than issued");
    }
  }
  for (size_t s = 0; s < problem.storages.size(); ++s)
    if (schedule.versions[s] < problem.storages[s].minVersions ||
        schedule.versions[s] > problem.storages[s].maxVersions)
      broken.push_back("`" + problem.storages[s].name + "` has too few or too many versions");
  if (!versionsFit(problem, schedule.versions))
    broken.push_back("the versions do not fit in memory");
  return broken;
}

bool versionsFit(const ModuloProblem &problem, const std::vector<unsigned> &versions) {
  std::array<__int128, numSpaces> used = {};
  for (size_t s = 0; s < problem.storages.size(); ++s)
    used[size_t(problem.storages[s].space)] += __int128(problem.storages[s].bytes) * versions[s];
  for (size_t space = 0; space < numSpaces; ++space)
    if (problem.capacity[space] && used[space] > problem.capacity[space])
      return false;
  return true;
}

std::vector<unsigned> generousVersions(const ModuloProblem &problem) {
  std::vector<unsigned> versions;
  for (const ModuloStorage &s : problem.storages)
    versions.push_back(s.minVersions);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t s = 0; s < versions.size(); ++s) {
      if (versions[s] >= problem.storages[s].maxVersions)
        continue;
      ++versions[s];
      if (versionsFit(problem, versions))
        grown = true;
      else
        --versions[s];
    }
  }
  return versions;
}

std::vector<unsigned> neededVersions(const ModuloProblem &problem, const ModuloSchedule &schedule) {
  std::vector<unsigned> versions;
  for (const ModuloStorage &s : problem.storages)
    versions.push_back(s.minVersions);
  for (const ModuloDependence &d : problem.dependences)
    if (d.storage != none)
      versions[d.storage] = std::max<int64_t>(
          versions[d.storage],
          ceilDiv(schedule.start[d.from] + d.latency - schedule.start[d.to], schedule.interval) -
              d.distance);
  return versions;
}

ModuloBounds lowerBounds(const ModuloProblem &problem) {
  ModuloBounds bounds;
  std::vector<int64_t> load(problem.resources.size(), 0);
  for (const ModuloOperation &op : problem.operations)
    if (op.resource != none)
      load[op.resource] += op.busy;
  for (unsigned r = 0; r < load.size(); ++r)
    if (bounds.busiest == none || load[r] > load[bounds.busiest])
      bounds.busiest = r;
  if (bounds.busiest != none)
    bounds.resource = std::max<int64_t>(1, load[bounds.busiest]);
  // With as many versions as each storage could ever have, alone in memory.
  EventGraph graph;
  for (const ModuloOperation &op : problem.operations)
    graph.add(op.name);
  for (const ModuloDependence &d : problem.dependences)
    graph.edge(d.from, d.to,
               d.distance + (d.storage == none ? 0 : problem.storages[d.storage].maxVersions),
               d.latency);
  if (auto critical = maximumCycleRatio(graph))
    bounds.recurrence = std::max<int64_t>(1, critical->ratio.ceil());
  return bounds;
}

std::vector<DepthStep> depthTable(const ModuloProblem &problem, const ModuloOptions &options) {
  auto solve = [&](const ModuloProblem &p) {
    return exactSolverBuilt() ? solveExact(p, options) : solveHeuristic(p, options);
  };
  std::vector<DepthStep> steps;
  ModuloResult best = solve(problem);
  if (!best.schedule)
    return steps;
  unsigned most = 1;
  for (const ModuloStorage &s : problem.storages)
    most = std::max(most, s.maxVersions);
  for (unsigned cap = 1; cap <= most; ++cap) {
    ModuloProblem capped = problem;
    for (ModuloStorage &s : capped.storages)
      s.maxVersions = std::max(s.minVersions, std::min(s.maxVersions, cap));
    ModuloResult result = solve(capped);
    if (!result.schedule)
      continue;
    DepthStep step{cap, *result.schedule, result.optimal, 0};
    for (size_t s = 0; s < problem.storages.size(); ++s)
      step.bytes += problem.storages[s].bytes * step.schedule.versions[s];
    steps.push_back(std::move(step));
    if (steps.back().schedule.interval <= best.schedule->interval)
      break;
  }
  return steps;
}

Schedule toSchedule(const ModuloSchedule &modulo) {
  size_t count = modulo.start.size();
  Schedule schedule;
  schedule.stage.resize(count);
  schedule.order.resize(count);
  std::vector<size_t> byTime(count);
  for (size_t i = 0; i < count; ++i) {
    byTime[i] = i;
    schedule.stage[i] = modulo.start[i] / modulo.interval;
  }
  // Statements that start in the same cycle do not depend on each other; source
  // order keeps the result the same from run to run.
  std::sort(byTime.begin(), byTime.end(), [&](size_t a, size_t b) {
    return std::pair(modulo.start[a] % modulo.interval, a) <
           std::pair(modulo.start[b] % modulo.interval, b);
  });
  for (size_t i = 0; i < count; ++i)
    schedule.order[byTime[i]] = int64_t(i);
  return schedule;
}

} // namespace penstock::sched
