//===- EventGraph.cpp - Events of an iteration, and their distances -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/EventGraph.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace penstock::sched {
namespace {

using Weight = __int128;

/// Walks back from \p event along the edges that last improved each event until
/// one repeats; no value if the walk ends at an event that never improved.
std::optional<std::vector<unsigned>> walkBack(const EventGraph &graph,
                                              const std::vector<int64_t> &cause, unsigned event) {
  std::vector<unsigned> path;
  std::vector<int64_t> seenAt(graph.events.size(), -1);
  while (seenAt[event] < 0) {
    seenAt[event] = int64_t(path.size());
    if (cause[event] < 0)
      return std::nullopt;
    path.push_back(unsigned(cause[event]));
    event = graph.edges[cause[event]].from;
  }
  path.erase(path.begin(), path.begin() + seenAt[event]);
  std::reverse(path.begin(), path.end());
  return path;
}

/// A cycle whose total weight is positive, by Bellman-Ford. The edges of the
/// predecessor graph are looked at after every round, since a cycle there is a
/// positive one and usually appears long before the last round.
std::optional<Cycle> positiveCycle(const EventGraph &graph,
                                   const std::function<Weight(const GraphEdge &)> &weight) {
  size_t count = graph.events.size();
  std::vector<Weight> weights;
  for (const GraphEdge &e : graph.edges)
    weights.push_back(weight(e));
  std::vector<Weight> potential(count, 0);
  std::vector<int64_t> cause(count, -1);
  for (size_t round = 0; round <= count; ++round) {
    unsigned improved = ~0u;
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      const GraphEdge &e = graph.edges[i];
      if (potential[e.from] + weights[i] > potential[e.to]) {
        potential[e.to] = potential[e.from] + weights[i];
        cause[e.to] = int64_t(i);
        improved = e.to;
      }
    }
    if (improved == ~0u)
      return std::nullopt;
    auto path = walkBack(graph, cause, improved);
    if (!path)
      continue;
    Cycle cycle;
    Weight total = 0;
    for (unsigned i : *path) {
      cycle.distance += graph.edges[i].distance;
      cycle.latency += graph.edges[i].latency;
      total += weights[i];
    }
    cycle.edges = std::move(*path);
    if (total > 0)
      return cycle;
  }
  return std::nullopt;
}

} // namespace

std::optional<Cycle> findCycleWithoutToken(const EventGraph &graph) {
  // A simple cycle has at most as many edges as there are events, so one unit
  // per edge against `scale` per token tells 0 or less from 1 or more.
  int64_t scale = int64_t(graph.events.size()) + 1;
  return positiveCycle(graph, [&](const GraphEdge &e) { return 1 - Weight(scale) * e.distance; });
}

Rational Rational::of(int64_t num, int64_t den) {
  int64_t g = std::gcd(num, den);
  if (g == 0)
    return {};
  if (den < 0)
    g = -g;
  return {num / g, den / g};
}

int64_t Rational::ceil() const { return num >= 0 ? (num + den - 1) / den : -(-num / den); }

std::string Rational::str() const {
  if (den == 1)
    return std::to_string(num);
  // Cycles per iteration, to a tenth.
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", double(num) / double(den));
  return text;
}

std::optional<CriticalCycle> maximumCycleRatio(const EventGraph &graph) {
  // Raise the ratio to that of a cycle that exceeds it, until none does. Each
  // step is exact, and strictly increases over the finitely many cycles.
  std::optional<CriticalCycle> best;
  Rational ratio{-1, 1}; // latencies are not negative, so every cycle exceeds it
  while (auto cycle = positiveCycle(graph, [&](const GraphEdge &e) {
           return Weight(e.latency) * ratio.den - Weight(ratio.num) * e.distance;
         })) {
    if (cycle->distance <= 0)
      return std::nullopt;
    ratio = Rational::of(cycle->latency, cycle->distance);
    best = CriticalCycle{ratio, std::move(*cycle)};
  }
  return best;
}

} // namespace penstock::sched
