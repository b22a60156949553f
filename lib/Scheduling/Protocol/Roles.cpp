//===- Roles.cpp - Groups of warps that hand tokens round -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/Roles.h"
#include "Scheduling/Protocol/RoleShape.h"

#include <algorithm>
#include <map>

namespace penstock::sched {

bool RoleSystem::nested() const {
  return std::any_of(roles.begin(), roles.end(),
                     [](const Role &role) { return !role.inner.empty(); });
}

std::vector<RoleEvent> unrolled(const Role &role) {
  int64_t lowest = 0;
  for (const RoleEvent &e : role.events)
    lowest = std::min(lowest, e.stage);
  std::map<std::pair<unsigned, RoleEventKind>, int64_t> perIteration;
  for (const RoleEvent &e : role.events)
    ++perIteration[{e.ring, e.kind}];
  struct Placed {
    int64_t sub;
    size_t index;
    RoleEvent event;
  };
  std::vector<Placed> placed;
  for (int64_t r = 0; r < role.factor; ++r)
    for (size_t i = 0; i < role.events.size(); ++i) {
      RoleEvent e = role.events[i];
      int64_t step = r + e.stage - lowest;
      e.token += r * perIteration[{e.ring, e.kind}];
      e.stage = step / role.factor;
      placed.push_back({step % role.factor, i, e});
    }
  std::sort(placed.begin(), placed.end(),
            [](auto &a, auto &b) { return std::pair(a.sub, a.index) < std::pair(b.sub, b.index); });
  std::vector<RoleEvent> events;
  for (Placed &p : placed)
    events.push_back(std::move(p.event));
  return events;
}

std::vector<std::pair<size_t, int64_t>> executionOrder(const std::vector<RoleEvent> &events,
                                                       int64_t n) {
  std::vector<std::pair<size_t, int64_t>> instances;
  if (events.empty())
    return instances;
  auto [low, high] = std::minmax_element(events.begin(), events.end(),
                                         [](auto &a, auto &b) { return a.stage < b.stage; });
  for (int64_t step = low->stage; step < n + high->stage; ++step)
    for (size_t i = 0; i < events.size(); ++i)
      if (int64_t k = step - events[i].stage; k >= 0 && k < n)
        instances.emplace_back(i, k);
  return instances;
}

const char *roleEventName(RoleEventKind kind) {
  switch (kind) {
  case RoleEventKind::Acquire:
    return "acquire";
  case RoleEventKind::Commit:
    return "commit";
  case RoleEventKind::Wait:
    return "wait";
  case RoleEventKind::Release:
    return "release";
  case RoleEventKind::Signal:
    return "signal";
  case RoleEventKind::Await:
    return "await";
  }
  return "event";
}

bool onLink(RoleEventKind kind) {
  return kind == RoleEventKind::Signal || kind == RoleEventKind::Await;
}

RoleSystem flattened(const RoleSystem &system, int64_t innerTrips) {
  RoleSystem flat = system;
  for (Role &role : flat.roles) {
    std::map<std::pair<unsigned, RoleEventKind>, int64_t> perIteration;
    for (const RoleEvent &e : role.inner)
      ++perIteration[{e.ring, e.kind}];
    int64_t trips = std::max(innerTrips, role.innerLeastTrips);
    std::vector<RoleEvent> instances;
    for (auto [i, k] : executionOrder(role.inner, trips)) {
      RoleEvent e = role.inner[i];
      e.token += k * perIteration[{e.ring, e.kind}];
      e.stage = 0;
      instances.push_back(std::move(e));
    }
    size_t at = std::min(role.innerAt, role.events.size());
    role.events.insert(role.events.begin() + at, instances.begin(), instances.end());
    role.inner.clear();
  }
  return flat;
}

EventGraph eventGraph(const RoleSystem &system) {
  EventGraph graph;
  struct Use {
    unsigned event;
    int64_t token;
  };
  // Per ring or link and kind of event, over all roles.
  std::map<std::pair<unsigned, RoleEventKind>, std::vector<Use>> uses;
  for (const Role &role : system.roles) {
    std::vector<RoleEvent> events = unrolled(role);
    std::vector<unsigned> ids;
    for (const RoleEvent &e : events) {
      const std::string &on =
          onLink(e.kind) ? system.links[e.ring].name : system.rings[e.ring].name;
      std::string name = role.name + ": " + roleEventName(e.kind) + " " + on;
      if (e.token)
        name += " #" + std::to_string(e.token);
      unsigned id = graph.add(std::move(name), e.location);
      ids.push_back(id);
      uses[{e.ring, e.kind}].push_back({id, e.token});
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      bool last = i + 1 == ids.size();
      size_t next = last ? 0 : i + 1;
      graph.edge(ids[i], ids[next], events[i].stage - events[next].stage + (last ? 1 : 0),
                 events[i].latency);
    }
  }
  // Waiting event a of iteration k asks for arrival k*c + a - back, so the edge
  // comes from arrival b = (a - back) mod c.
  auto connect = [&](unsigned index, RoleEventKind arrive, RoleEventKind wait, int64_t back) {
    int64_t c = 0;
    for (const Use &arrival : uses[{index, arrive}])
      c = std::max(c, arrival.token + 1);
    for (const Use &waiting : uses[{index, wait}])
      for (const Use &arrival : uses[{index, arrive}]) {
        int64_t b = ((waiting.token - back) % c + c) % c;
        if (arrival.token == b)
          graph.edge(arrival.event, waiting.event, (b + back - waiting.token) / c, 0, true);
      }
  };
  for (unsigned r = 0; r < system.rings.size(); ++r) {
    connect(r, RoleEventKind::Commit, RoleEventKind::Wait, 0);
    connect(r, RoleEventKind::Release, RoleEventKind::Acquire, system.rings[r].slots);
  }
  for (unsigned l = 0; l < system.links.size(); ++l)
    connect(l, RoleEventKind::Signal, RoleEventKind::Await, system.links[l].distance);
  return graph;
}

} // namespace penstock::sched
