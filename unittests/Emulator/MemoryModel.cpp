//===- MemoryModel.cpp - Races by the definitions of PTX ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "MemoryModel.h"

using namespace penstock::memory_model;

namespace {

/// A relation over the events of an execution.
class Relation {
public:
  explicit Relation(size_t size) : rows(size, std::vector<bool>(size)) {}
  bool has(size_t from, size_t to) const { return rows[from][to]; }
  void add(size_t from, size_t to) { rows[from][to] = true; }
  void close() {
    for (size_t middle = 0; middle < rows.size(); ++middle)
      for (size_t from = 0; from < rows.size(); ++from)
        for (size_t to = 0; to < rows.size(); ++to)
          if (has(from, middle) && has(middle, to))
            add(from, to);
  }

private:
  std::vector<std::vector<bool>> rows;
};

class Execution {
public:
  Execution(const std::vector<Position> &positions, const std::vector<Event> &events, bool all)
      : positions(positions), events(events), all(all), observation(events.size()),
        causality(events.size()) {
    relateObservations();
    relateCausality();
  }

  bool race(unsigned a, unsigned b) const {
    const Event &first = events[a], &second = events[b];
    bool conflict = first.kind != Event::Fence && second.kind != Event::Fence &&
                    first.location == second.location && (first.writes() || second.writes());
    return conflict && !causality.has(a, b) && !causality.has(b, a) && !morallyStrong(a, b);
  }

private:
  bool programOrder(unsigned a, unsigned b) const {
    return events[a].thread == events[b].thread && a < b;
  }
  bool includes(const Event &event, unsigned thread) const {
    const Position &own = positions[event.thread], &other = positions[thread];
    switch (event.scope) {
    case Scope::Cta:
      return own.block == other.block;
    case Scope::Cluster:
      return own.cluster == other.cluster;
    case Scope::Gpu:
    case Scope::Sys:
      return true;
    }
    return false;
  }
  bool morallyStrong(unsigned a, unsigned b) const {
    const Event &first = events[a], &second = events[b];
    if (first.thread == second.thread)
      return true;
    return first.strong() && second.strong() && includes(first, second.thread) &&
           includes(second, first.thread);
  }

  /// A write precedes the reads that return its value, directly or through a chain of atomics.
  void relateObservations() {
    for (unsigned r = 0; r < events.size(); ++r)
      if (events[r].reads() && events[r].readsFrom && morallyStrong(*events[r].readsFrom, r))
        observation.add(*events[r].readsFrom, r);
    observation.close();
  }

  void relateCausality() {
    Relation base(events.size());
    for (unsigned a = 0; a < events.size(); ++a)
      for (unsigned b = 0; b < events.size(); ++b)
        if (programOrder(a, b))
          base.add(a, b);
    for (unsigned w = 0; w < events.size(); ++w)
      for (unsigned r = 0; r < events.size(); ++r)
        if (observation.has(w, r))
          for (unsigned first : startsOfRelease(w))
            for (unsigned last : endsOfAcquire(r))
              if (morallyStrong(first, last))
                base.add(first, last);
    base.close();
    for (unsigned a = 0; a < events.size(); ++a)
      for (unsigned b = 0; b < events.size(); ++b) {
        bool precedes = base.has(a, b);
        for (unsigned middle = 0; all && middle < events.size() && !precedes; ++middle)
          precedes = observation.has(a, middle) && base.has(middle, b);
        if (precedes)
          causality.add(a, b);
      }
  }

  /// Returns the first operations of the release patterns whose write is \p write.
  std::vector<unsigned> startsOfRelease(unsigned write) const {
    std::vector<unsigned> starts;
    if (!events[write].strong())
      return starts;
    if (events[write].releases())
      starts.push_back(write);
    for (unsigned e = 0; e < write; ++e)
      if (programOrder(e, write) && events[e].releases() &&
          (events[e].kind == Event::Fence || events[e].location == events[write].location))
        starts.push_back(e);
    return starts;
  }

  /// Returns the last operations of the acquire patterns whose read is \p read.
  std::vector<unsigned> endsOfAcquire(unsigned read) const {
    std::vector<unsigned> ends;
    if (!events[read].strong())
      return ends;
    if (events[read].acquires())
      ends.push_back(read);
    for (unsigned e = read + 1; e < events.size(); ++e)
      if (programOrder(read, e) && events[e].acquires() &&
          (events[e].kind == Event::Fence || (all && events[e].location == events[read].location)))
        ends.push_back(e);
    return ends;
  }

  const std::vector<Position> &positions;
  const std::vector<Event> &events;
  bool all;
  Relation observation, causality;
};

} // namespace

Races penstock::memory_model::findRaces(const std::vector<Position> &positions,
                                        const std::vector<Event> &events, bool all) {
  Execution execution(positions, events, all);
  Races races;
  for (unsigned a = 0; a < events.size(); ++a)
    for (unsigned b = a + 1; b < events.size(); ++b)
      if (execution.race(a, b))
        races.insert({a, b});
  return races;
}
