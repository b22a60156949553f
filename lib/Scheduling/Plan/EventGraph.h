//===- EventGraph.h - Events of an iteration, and their distances -*- C++ -*-===//
//-*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are the events of one iteration. An edge u -> v with distance d and
// latency l says that v of iteration k + d happens no earlier than l after u of
// iteration k. One structure answers whether roles can wait for each other for
// ever (a cycle without a token) and how fast the loop can be (the largest
// ratio of latency to distance over all cycles).
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_EVENTGRAPH_H
#define PENSTOCK_SCHEDULING_PLAN_EVENTGRAPH_H

#include "Diagnostics/Diagnostic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::sched {

struct GraphEvent {
  std::string name;
  SourceLocation location;
};

struct GraphEdge {
  unsigned from = 0;
  unsigned to = 0;
  int64_t distance = 0;
  int64_t latency = 0;
  /// The later event waits for the earlier one to happen, in whatever role; an
  /// edge that is not blocking only records the order within a role.
  bool blocking = false;
};

struct EventGraph {
  std::vector<GraphEvent> events;
  std::vector<GraphEdge> edges;

  unsigned add(std::string name, SourceLocation location = {}) {
    events.push_back({std::move(name), std::move(location)});
    return unsigned(events.size() - 1);
  }
  void edge(unsigned from, unsigned to, int64_t distance, int64_t latency = 0,
            bool blocking = false) {
    edges.push_back({from, to, distance, latency, blocking});
  }
};

/// A closed walk as indices into EventGraph::edges.
struct Cycle {
  std::vector<unsigned> edges;
  int64_t distance = 0;
  int64_t latency = 0;
};

/// A cycle whose distances add up to 0 or less, if there is one: its events
/// wait for themselves.
std::optional<Cycle> findCycleWithoutToken(const EventGraph &);

/// p/q in lowest terms, q > 0.
struct Rational {
  int64_t num = 0;
  int64_t den = 1;
  static Rational of(int64_t num, int64_t den);
  int64_t ceil() const;
  std::string str() const;
  friend bool operator==(const Rational &, const Rational &) = default;
  friend std::strong_ordering operator<=>(const Rational &a, const Rational &b) {
    return __int128(a.num) * b.den <=> __int128(b.num) * a.den;
  }
};

struct CriticalCycle {
  Rational ratio;
  Cycle cycle;
};

/// The largest ratio of latency to distance over all cycles, exactly, with a
/// cycle that has it; no value if the graph has no cycle. The graph must have
/// no cycle without a token.
std::optional<CriticalCycle> maximumCycleRatio(const EventGraph &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PLAN_EVENTGRAPH_H
