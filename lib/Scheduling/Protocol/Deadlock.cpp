//===- Deadlock.cpp - Can roles wait for each other for ever --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles that run the same loop and pass the same tokens form a marked graph: it
// is live, for every number of iterations, exactly when every cycle carries a
// token and no wait asks for an iteration that the loop may not have. That is a
// question about one graph of the size of the program, so no states are
// enumerated and no bound is hit.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Protocol/RoleShape.h"

#include <algorithm>
#include <map>
#include <set>

namespace penstock::sched {
namespace {

using Kind = RoleEventKind;

RolesVerdict refuse(unsigned code, std::string message, const SourceLocation &location = {}) {
  RolesVerdict verdict;
  verdict.live = false;
  verdict.reason.code = code;
  verdict.reason.location = location;
  verdict.reason.message = std::move(message);
  return verdict;
}

/// Trip count of a role: factor * (max(n, least) + extra).
struct Trips {
  int64_t factor, extra, least;
};

class TokenCheck {
public:
  explicit TokenCheck(const RoleSystem &system) : system(system) {}

  /// No value if the roles of each ring handle the same tokens.
  std::optional<RolesVerdict> run() {
    for (unsigned r = 0; r < system.roles.size(); ++r)
      if (auto bad = collect(system.roles[r]))
        return bad;
    for (auto &[ring, sides] : uses)
      if (auto bad = compare(ring, sides))
        return bad;
    return std::nullopt;
  }

private:
  struct Side {
    Kind kind;
    std::string role;
    int64_t perIteration; ///< tokens per iteration of the common loop
    Trips trips;
    SourceLocation location;
  };
  using RingKey = std::pair<bool, unsigned>; ///< link?, index

  std::optional<RolesVerdict> collect(const Role &role);
  std::optional<RolesVerdict> compare(RingKey ring, const std::vector<Side> &sides);
  std::string name(RingKey ring) const {
    return ring.first ? system.links[ring.second].name : system.rings[ring.second].name;
  }

  const RoleSystem &system;
  std::map<RingKey, std::vector<Side>> uses;
};

std::optional<RolesVerdict> TokenCheck::collect(const Role &role) {
  if (role.factor < 1 || (role.extra % role.factor) != 0)
    return refuse(RolesOutsideModel, "role `" + role.name +
                                         "` runs a number of iterations that is not a multiple of "
                                         "the loop's");
  Trips trips{role.factor, role.extra / role.factor, role.leastTrips};
  std::map<std::pair<RingKey, Kind>, std::set<int64_t>> tokens;
  for (const RoleEvent &e : role.events) {
    RingKey key{onLink(e.kind), e.ring};
    if (e.ring >= (key.first ? system.links.size() : system.rings.size()))
      return refuse(RolesOutsideModel, "role `" + role.name + "` uses an unknown ring", e.location);
    if (!tokens[{key, e.kind}].insert(e.token).second)
      return refuse(TokensUnequal,
                    "role `" + role.name + "` handles token " + std::to_string(e.token) + " of `" +
                        name(key) + "` twice (" + roleEventName(e.kind) + ")",
                    e.location);
  }
  for (const auto &[key, set] : tokens) {
    if (*set.begin() != 0 || *set.rbegin() + 1 != int64_t(set.size()))
      return refuse(TokensUnequal,
                    "role `" + role.name + "` leaves out tokens of `" + name(key.first) + "`");
    uses[key.first].push_back(
        {key.second, role.name, int64_t(set.size()) * role.factor, trips, {}});
  }
  return std::nullopt;
}

std::optional<RolesVerdict> TokenCheck::compare(RingKey ring, const std::vector<Side> &sides) {
  auto has = [&](Kind kind) {
    return std::any_of(sides.begin(), sides.end(), [&](const Side &s) { return s.kind == kind; });
  };
  for (auto [waits, arrives] :
       {std::pair(Kind::Acquire, Kind::Release), std::pair(Kind::Wait, Kind::Commit),
        std::pair(Kind::Await, Kind::Signal)})
    if (has(waits) && !has(arrives))
      return refuse(TokensUnequal, "`" + name(ring) + "` is waited on (" + roleEventName(waits) +
                                       "), and no role arrives (" + roleEventName(arrives) + ")");
  if (!ring.first && system.rings[ring.second].slots < 1)
    return refuse(RolesOutsideModel, "`" + name(ring) + "` has no slot");
  const Side &first = sides.front();
  for (const Side &side : sides) {
    bool equal = side.perIteration == first.perIteration && side.trips.extra == first.trips.extra &&
                 side.trips.least == first.trips.least;
    if (equal)
      continue;
    std::string message = "`" + first.role + "` and `" + side.role +
                          "` do not handle the same number of tokens of `" + name(ring) + "`";
    if (side.trips.least != first.trips.least)
      message += " when the loop has fewer iterations than its peeled code";
    RolesVerdict bad = refuse(TokensUnequal, message);
    if (side.trips.least != first.trips.least)
      bad.reason.helps.push_back("run the peeled code min(stagger, n) times");
    return bad;
  }
  return std::nullopt;
}

/// The rule for one loop whose roles agree on tokens.
RolesVerdict checkFlat(const RoleSystem &system) {
  if (auto bad = TokenCheck(system).run())
    return *bad;
  EventGraph graph = eventGraph(system);
  for (const GraphEdge &e : graph.edges)
    if (e.blocking && e.distance < 0) {
      RolesVerdict verdict =
          refuse(WaitsBeyondEnd,
                 "`" + graph.events[e.to].name + "` waits for `" + graph.events[e.from].name +
                     "` of " + std::to_string(-e.distance) +
                     " iterations later, which the last iterations do not have",
                 graph.events[e.to].location);
      verdict.reason.notes.push_back(
          {graph.events[e.from].location, "this is what it waits for", ""});
      return verdict;
    }
  auto cycle = findCycleWithoutToken(graph);
  if (!cycle)
    return {};
  RolesVerdict verdict =
      refuse(Deadlock, "these events wait for each other in a cycle, so some role waits forever");
  for (unsigned i : cycle->edges) {
    const GraphEvent &event = graph.events[graph.edges[i].to];
    verdict.cycle.push_back(event.name);
    verdict.reason.notes.push_back({event.location, event.name, ""});
    if (!verdict.reason.location.known())
      verdict.reason.location = event.location;
  }
  return verdict;
}

/// The inner loops as a system of their own.
RoleSystem innerOnly(const RoleSystem &system) {
  RoleSystem inner = system;
  for (Role &role : inner.roles) {
    role.events = std::move(role.inner);
    role.inner.clear();
    role.leastTrips = role.innerLeastTrips;
    role.factor = 1;
    role.extra = 0;
  }
  return inner;
}

std::optional<RolesVerdict> mixedLevels(const RoleSystem &system) {
  std::map<std::pair<bool, unsigned>, int> levels;
  for (const Role &role : system.roles) {
    for (const RoleEvent &e : role.events)
      levels[{onLink(e.kind), e.ring}] |= 1;
    for (const RoleEvent &e : role.inner)
      levels[{onLink(e.kind), e.ring}] |= 2;
    if (!role.inner.empty() && role.factor != 1)
      return refuse(RolesOutsideModel,
                    "role `" + role.name + "` has an inner loop and an iteration count of its own");
  }
  for (auto &[ring, bits] : levels)
    if (bits == 3)
      return refuse(
          RolesOutsideModel,
          "`" + (ring.first ? system.links[ring.second].name : system.rings[ring.second].name) +
              "` is used inside and outside the inner loop");
  return std::nullopt;
}

} // namespace

RolesVerdict checkRoles(const RoleSystem &system) {
  if (system.outsideModel)
    return refuse(RolesOutsideModel, "data decides which role arrives, so this is not checked");
  if (!system.nested())
    return checkFlat(system);
  if (auto bad = mixedLevels(system))
    return *bad;
  // An inner loop that hangs alone hangs in the first tile.
  if (RolesVerdict inner = checkFlat(innerOnly(system)); !inner.live)
    return inner;
  // Tokens are numbered through all tiles, so the distances depend on the trip
  // count of the inner loop; beyond the sum of the versions nothing new comes.
  int64_t most = 1;
  for (const Ring &ring : system.rings)
    most += ring.slots;
  for (const Link &link : system.links)
    most += link.distance < 0 ? -link.distance : link.distance;
  for (int64_t trips = 0; trips <= most; ++trips)
    if (RolesVerdict verdict = checkFlat(flattened(system, trips)); !verdict.live) {
      verdict.reason.message +=
          " (with " + std::to_string(trips) + " iterations of the inner loop)";
      return verdict;
    }
  return {};
}

} // namespace penstock::sched
