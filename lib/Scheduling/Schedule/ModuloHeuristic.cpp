//===- ModuloHeuristic.cpp - Iterative modulo scheduling ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each interval from the lower bound up: place the operations one by one,
// the longest remaining path first, each as early as its predecessors and its
// engine allow. An operation that finds no room evicts others,
// which are placed again; a budget ends the attempt.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Schedule/Modulo.h"

#include <algorithm>

namespace penstock::sched {
namespace {

class Attempt {
public:
  Attempt(const ModuloProblem &problem, const std::vector<unsigned> &versions, int64_t interval)
      : problem(problem), interval(interval), count(problem.operations.size()) {
    for (const ModuloDependence &d : problem.dependences)
      edges.push_back(
          {d.from, d.to,
           d.latency - interval * (d.distance + (d.storage == none ? 0 : versions[d.storage]))});
  }

  std::optional<std::vector<int64_t>> run() {
    if (!findHeights())
      return std::nullopt;
    start.assign(count, -1);
    previous.assign(count, -1);
    for (int64_t budget = int64_t(count) * 12; budget > 0; --budget) {
      unsigned next = none;
      for (unsigned i = 0; i < count; ++i)
        if (start[i] < 0 && (next == none || height[i] > height[next]))
          next = i;
      if (next == none)
        return start;
      place(next);
    }
    return std::nullopt;
  }

private:
  struct Edge {
    unsigned from, to;
    int64_t weight;
  };

  /// Longest path from each operation; none if a circle is too slow for the
  /// interval.
  bool findHeights() {
    height.assign(count, 0);
    for (size_t round = 0; round <= count; ++round) {
      bool changed = false;
      for (const Edge &e : edges)
        if (height[e.to] + e.weight > height[e.from]) {
          height[e.from] = height[e.to] + e.weight;
          changed = true;
        }
      if (!changed)
        return true;
    }
    return false;
  }
  bool clash(unsigned a, int64_t at, unsigned b) const {
    const ModuloOperation &x = problem.operations[a];
    const ModuloOperation &y = problem.operations[b];
    if (x.resource == none || x.resource != y.resource)
      return false;
    int64_t gap = (((start[b] - at) % interval) + interval) % interval;
    return gap < x.busy || interval - gap < y.busy;
  }
  void place(unsigned op) {
    int64_t earliest = 0;
    for (const Edge &e : edges)
      if (e.to == op && e.from != op && start[e.from] >= 0)
        earliest = std::max(earliest, start[e.from] + e.weight);
    // The first free slot begins at once or where another operation ends.
    std::vector<int64_t> candidates = {earliest};
    for (unsigned other = 0; other < count; ++other)
      if (other != op && start[other] >= 0 &&
          problem.operations[other].resource == problem.operations[op].resource) {
        int64_t end = start[other] + problem.operations[other].busy;
        candidates.push_back(earliest + (((end - earliest) % interval) + interval) % interval);
      }
    std::sort(candidates.begin(), candidates.end());
    int64_t chosen = -1;
    for (int64_t t : candidates) {
      bool free = true;
      for (unsigned other = 0; other < count && free; ++other)
        free = other == op || start[other] < 0 || !clash(op, t, other);
      if (free) {
        chosen = t;
        break;
      }
    }
    if (chosen < 0) // force it, later than the last time
      chosen = std::max(earliest, previous[op] + 1);
    start[op] = previous[op] = chosen;
    for (unsigned other = 0; other < count; ++other)
      if (other != op && start[other] >= 0 && clash(op, chosen, other))
        start[other] = -1;
    for (const Edge &e : edges)
      if (e.from == op && e.to != op && start[e.to] >= 0 && start[e.to] < chosen + e.weight)
        start[e.to] = -1;
  }

  const ModuloProblem &problem;
  int64_t interval;
  size_t count;
  std::vector<Edge> edges;
  std::vector<int64_t> height, start, previous;
};

} // namespace

ModuloResult solveHeuristic(const ModuloProblem &problem, const ModuloOptions &options) {
  ModuloResult result;
  result.diagnostics = checkModulo(problem);
  if (!result.diagnostics.empty())
    return result;
  result.bounds = lowerBounds(problem);
  // One operation after the other always works.
  int64_t serial = 1;
  for (const ModuloOperation &op : problem.operations) {
    int64_t longest = op.busy;
    for (const ModuloDependence &d : problem.dependences)
      if (&problem.operations[d.from] == &op)
        longest = std::max(longest, d.latency);
    serial += longest;
  }
  int64_t most = options.maxInterval ? options.maxInterval : serial;
  std::vector<unsigned> versions = generousVersions(problem);
  // Far above the bound single cycles no longer matter.
  for (int64_t interval = result.bounds.best(); interval <= most;
       interval += std::max<int64_t>(1, (interval - result.bounds.best()) / 32)) {
    auto start = Attempt(problem, versions, interval).run();
    if (!start)
      continue;
    ModuloSchedule schedule{interval, *start, versions};
    schedule.versions = neededVersions(problem, schedule);
    if (!verifyModulo(problem, schedule).empty())
      continue;
    result.optimal = interval == result.bounds.best();
    result.schedule = std::move(schedule);
    return result;
  }
  Diagnostic d;
  d.code = NoModuloSchedule;
  d.message = "no schedule was found with an interval of up to " + std::to_string(most) + " cycles";
  result.diagnostics.push_back(std::move(d));
  return result;
}

} // namespace penstock::sched
