//===- Parity.cpp - Do waits by parity return for the right phase ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A barrier tells a waiting thread only the parity of its phase. That is exact
// if no phase can overtake a wait by two. Rings that keep their discipline have
// this property; for others the order of the concrete instances is looked at,
// for every trip count up to the sum of the distances, since nothing new comes
// after that.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Protocol/RoleShape.h"

#include <algorithm>
#include <map>
#include <optional>

namespace penstock::sched {
namespace {

using Kind = RoleEventKind;

/// Producers acquire, then commit; consumers wait, then release; every token
/// once and in order; whoever waits on one side arrives on the other.
bool keepsDiscipline(const RoleSystem &system) {
  if (!system.links.empty())
    return false;
  for (const Role &role : system.roles) {
    std::vector<RoleEvent> events = unrolled(role);
    for (unsigned r = 0; r < system.rings.size(); ++r)
      for (auto [waits, arrives] :
           {std::pair(Kind::Acquire, Kind::Commit), std::pair(Kind::Wait, Kind::Release)}) {
        using StagePosition = std::pair<int64_t, size_t>; // stage, position in the step
        std::map<int64_t, StagePosition> wait, arrive;
        for (size_t i = 0; i < events.size(); ++i)
          if (events[i].ring == r && events[i].kind == waits)
            wait[events[i].token] = {events[i].stage, i};
          else if (events[i].ring == r && events[i].kind == arrives)
            arrive[events[i].token] = {events[i].stage, i};
        if (wait.size() != arrive.size())
          return false;
        for (auto *side : {&wait, &arrive}) {
          StagePosition last{INT64_MIN, 0};
          for (auto &[token, position] : *side) {
            if (position < last)
              return false;
            last = position;
          }
          // The first token of the next iteration follows the last of this one.
          if (!side->empty()) {
            StagePosition next = side->begin()->second;
            ++next.first;
            if (next < last)
              return false;
          }
        }
        for (auto &[token, position] : wait)
          if (!arrive.count(token) || arrive[token] < position)
            return false;
      }
  }
  return true;
}

/// The instances of a loop of n iterations and which must come before which.
class Instances {
public:
  Instances(const RoleSystem &system, int64_t n) : system(system) {
    for (const Role &role : system.roles)
      layOut(role, n);
    closeOrder();
  }

  /// The first broken condition, with the lines of both events; none if parity is exact.
  std::optional<Diagnostic> firstViolation() const;

private:
  struct Node {
    std::string name;
    SourceLocation location;
    std::vector<size_t> before;
  };
  struct Barrier {
    unsigned ring;
    bool full;
    int64_t slot;
    auto operator<=>(const Barrier &) const = default;
  };
  struct Waiting {
    size_t start, returns;
  };
  struct Phase {
    std::vector<size_t> arrivals;
    std::vector<Waiting> waits;
  };

  /// The number under which the barriers of a link are kept.
  unsigned linkAsRing(unsigned link) const { return unsigned(system.rings.size()) + link; }
  void layOut(const Role &role, int64_t n);
  void closeOrder();
  Diagnostic violation(size_t at, size_t other, std::string message) const;
  bool before(size_t a, size_t b) const { return a == b || (ancestors[b][a / 64] >> (a % 64) & 1); }

  const RoleSystem &system;
  std::vector<Node> nodes;
  std::map<Barrier, std::map<int64_t, Phase>> barriers;
  std::map<std::pair<unsigned, bool>, size_t> arrivingRoles; ///< ring, full?
  std::map<std::pair<unsigned, int64_t>, std::vector<size_t>> signals, awaits;
  std::vector<std::vector<uint64_t>> ancestors;
};

void Instances::layOut(const Role &role, int64_t n) {
  std::vector<RoleEvent> events = unrolled(role);
  std::map<std::pair<unsigned, Kind>, int64_t> perIteration;
  for (const RoleEvent &e : events)
    ++perIteration[{e.ring, e.kind}];
  for (unsigned r = 0; r < system.rings.size(); ++r) {
    arrivingRoles[{r, true}] += perIteration.count({r, Kind::Commit});
    arrivingRoles[{r, false}] += perIteration.count({r, Kind::Release});
  }
  for (unsigned l = 0; l < system.links.size(); ++l)
    arrivingRoles[{linkAsRing(l), true}] += perIteration.count({l, Kind::Signal});
  size_t last = ~size_t(0);
  SourceLocation location;
  auto node = [&](std::string name) {
    nodes.push_back({std::move(name), location, {}});
    if (last != ~size_t(0))
      nodes.back().before.push_back(last);
    return last = nodes.size() - 1;
  };
  int64_t trips = std::max(n, role.leastTrips) + role.extra / std::max<int64_t>(role.factor, 1);
  for (auto [i, k] : executionOrder(events, trips)) {
    const RoleEvent &e = events[i];
    location = e.location;
    int64_t token = k * perIteration[{e.ring, e.kind}] + e.token;
    std::string name = role.name + ": " + roleEventName(e.kind) + " token " + std::to_string(token);
    if (onLink(e.kind)) {
      // A link has the full barriers of a ring, and no empty ones.
      const Link &link = system.links[e.ring];
      int64_t from = e.kind == Kind::Await ? token - link.distance : token;
      Phase unrealized;
      Phase &phase =
          link.slots && from >= 0
              ? barriers[{linkAsRing(e.ring), true, from % link.slots}][from / link.slots]
              : unrealized;
      name += " of " + link.name;
      if (e.kind == Kind::Signal) {
        signals[{e.ring, token}].push_back(node(name));
        phase.arrivals.push_back(last);
      } else {
        size_t start = node(name + " starts");
        awaits[{e.ring, from}].push_back(node(name));
        phase.waits.push_back({start, last});
      }
      continue;
    }
    name += " of " + system.rings[e.ring].name;
    int64_t slots = system.rings[e.ring].slots;
    bool full = e.kind == Kind::Commit || e.kind == Kind::Wait;
    auto &phases = barriers[{e.ring, full, token % slots}];
    int64_t phase = token / slots;
    if (e.kind == Kind::Commit || e.kind == Kind::Release) {
      phases[phase].arrivals.push_back(node(name));
    } else {
      // The producer waits for the phase in which its slot was emptied.
      if (e.kind == Kind::Acquire)
        --phase;
      size_t start = node(name + " starts");
      phases[phase].waits.push_back({start, node(name)});
    }
  }
}

void Instances::closeOrder() {
  for (auto &[barrier, phases] : barriers)
    for (auto &[m, phase] : phases)
      for (const Waiting &w : phase.waits)
        for (size_t arrival : phase.arrivals)
          nodes[w.returns].before.push_back(arrival);
  for (auto &[key, waiting] : awaits)
    if (auto from = signals.find(key); from != signals.end())
      for (size_t w : waiting)
        for (size_t s : from->second)
          nodes[w].before.push_back(s);
  // The system is live, so there is an order in which everything runs.
  std::vector<size_t> open(nodes.size()), ready;
  std::vector<std::vector<size_t>> after(nodes.size());
  for (size_t v = 0; v < nodes.size(); ++v) {
    open[v] = nodes[v].before.size();
    for (size_t u : nodes[v].before)
      after[u].push_back(v);
    if (!open[v])
      ready.push_back(v);
  }
  size_t words = (nodes.size() + 63) / 64;
  ancestors.assign(nodes.size(), std::vector<uint64_t>(words, 0));
  for (size_t next = 0; next < ready.size(); ++next) {
    size_t v = ready[next];
    for (size_t u : nodes[v].before) {
      ancestors[v][u / 64] |= uint64_t(1) << (u % 64);
      for (size_t w = 0; w < words; ++w)
        ancestors[v][w] |= ancestors[u][w];
    }
    for (size_t w : after[v])
      if (--open[w] == 0)
        ready.push_back(w);
  }
}

Diagnostic Instances::violation(size_t at, size_t other, std::string message) const {
  Diagnostic d;
  d.code = PhaseNotExact;
  d.location = nodes[at].location;
  d.message = std::move(message);
  if (other != at)
    d.notes.push_back({nodes[other].location, "`" + nodes[other].name + "` is here", ""});
  return d;
}

std::optional<Diagnostic> Instances::firstViolation() const {
  for (const auto &[barrier, phases] : barriers) {
    size_t count = arrivingRoles.at({barrier.ring, barrier.full});
    auto arrivals = [&](int64_t m) -> const std::vector<size_t> & {
      static const std::vector<size_t> nobody;
      auto found = phases.find(m);
      return found == phases.end() ? nobody : found->second.arrivals;
    };
    for (const auto &[m, phase] : phases) {
      const auto &earlier = arrivals(m - 1), &later = arrivals(m + 1);
      for (size_t a : phase.arrivals) {
        if (m > 0 && earlier.size() < count)
          return violation(a, a,
                           "`" + nodes[a].name +
                               "` arrives for a phase whose predecessor never completes");
        for (size_t b : earlier)
          if (!before(b, a))
            return violation(a, b,
                             "`" + nodes[a].name + "` can arrive before `" + nodes[b].name +
                                 "`, one phase too early");
      }
      for (const Waiting &w : phase.waits) {
        const std::string &name = nodes[w.returns].name;
        for (size_t b : earlier)
          if (!before(b, w.start))
            return violation(w.returns, b,
                             "`" + name + "` can start while the phase before is open (`" +
                                 nodes[b].name + "`) and return at once");
        if (later.size() < count || count == 0)
          continue;
        bool held =
            std::any_of(later.begin(), later.end(), [&](size_t a) { return before(w.returns, a); });
        if (!held)
          return violation(w.returns, later.front(),
                           "`" + name + "` can miss its phase: nothing makes `" +
                               nodes[later.front()].name + "` wait for it");
      }
    }
  }
  return std::nullopt;
}

} // namespace

ParityVerdict checkParity(const RoleSystem &system) {
  ParityVerdict verdict;
  if (system.nested() && !system.outsideModel) {
    // Tiles with different trip counts follow each other, so only the
    // discipline, which does not depend on the count, answers for all.
    int64_t most = 1;
    for (const Ring &ring : system.rings)
      most += ring.slots;
    bool kept = true;
    for (int64_t trips = 0; trips <= most && kept; ++trips)
      kept = keepsDiscipline(flattened(system, trips));
    verdict.byDiscipline = kept;
  }
  if (verdict.byDiscipline)
    return verdict;
  if (system.nested() || system.outsideModel) {
    verdict.exact = false;
    verdict.reason.code = RolesOutsideModel;
    verdict.reason.message = "the phases of this system are not checked";
    return verdict;
  }
  if (keepsDiscipline(system)) {
    verdict.byDiscipline = true;
    return verdict;
  }
  int64_t most = 2;
  for (const GraphEdge &e : eventGraph(system).edges)
    most += e.distance < 0 ? -e.distance : e.distance;
  // A slot that nobody has to give back is in no edge, and its barriers are
  // mistaken for those of a round earlier only when they are used again.
  for (const Ring &ring : system.rings)
    most += ring.slots;
  for (const Link &link : system.links)
    most += link.slots;
  for (int64_t n = 0; n <= most; ++n)
    if (std::optional<Diagnostic> violation = Instances(system, n).firstViolation()) {
      verdict.exact = false;
      verdict.reason = std::move(*violation);
      verdict.reason.facts.emplace_back("iterations", std::to_string(n));
      return verdict;
    }
  return verdict;
}

} // namespace penstock::sched
