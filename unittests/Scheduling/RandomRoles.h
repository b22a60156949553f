//===- RandomRoles.h - Random systems of roles and rings --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_SCHEDULING_RANDOMROLES_H
#define PENSTOCK_UNITTESTS_SCHEDULING_RANDOMROLES_H

#include "Scheduling/Protocol/Roles.h"

#include <algorithm>
#include <map>
#include <random>

namespace penstock::sched::test {

class RandomRoles {
public:
  explicit RandomRoles(uint64_t seed) : rng(seed) {}

  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  struct Shape {
    int minRoles = 2, maxRoles = 6, maxRings = 6, maxSlots = 4;
    bool mayNest = true;
    /// Per cent of systems whose events are put in any order.
    int disorder = 15;
  };

  RoleSystem system(const Shape &shape) {
    RoleSystem s;
    int roles = pick(shape.minRoles, shape.maxRoles);
    int rings = pick(1, shape.maxRings);
    bool nested = shape.mayNest && chance(30);
    s.roles.resize(roles);
    for (int r = 0; r < roles; ++r)
      s.roles[r].name = "r" + std::to_string(r);
    // Per role and level, one list of events per side; merged below.
    std::vector<std::vector<std::vector<RoleEvent>>> outer(roles), inner(roles);
    for (int r = 0; r < rings; ++r) {
      s.rings.push_back({"q" + std::to_string(r), pick(1, shape.maxSlots)});
      int tokens = chance(70) ? 1 : pick(2, 3);
      auto &level = nested && chance(60) ? inner : outer;
      int producer = pick(0, roles - 1), consumer = pick(0, roles - 2);
      // Most rings run from lower to higher roles; the others close circles.
      if (consumer >= producer)
        ++consumer;
      if (consumer < producer && chance(60))
        std::swap(consumer, producer);
      side(level[producer], r, tokens, Kind::Acquire, Kind::Commit);
      side(level[consumer], r, tokens, Kind::Wait, Kind::Release);
      if (roles > 2 && chance(20)) {
        int second = pick(0, roles - 1);
        if (second != producer && second != consumer)
          side(level[second], r, tokens, Kind::Wait, Kind::Release);
      }
    }
    bool disorder = chance(shape.disorder);
    for (int r = 0; r < roles; ++r) {
      s.roles[r].events = merge(outer[r], disorder);
      s.roles[r].inner = merge(inner[r], disorder);
      s.roles[r].innerAt = pick(0, int(s.roles[r].events.size()));
      s.roles[r].leastTrips = chance(3) ? pick(1, 2) : 0;
      if (!s.roles[r].inner.empty())
        s.roles[r].innerLeastTrips = chance(3) ? pick(1, 2) : 0;
    }
    if (!s.nested())
      unrollOne(s);
    // One more iteration for all roles, or for one that should not have it.
    if (chance(5))
      for (Role &role : s.roles)
        role.extra = role.factor;
    else if (chance(3))
      s.roles[0].extra = s.roles[0].factor;
    if (chance(10))
      addLink(s);
    if (chance(4))
      damage(s);
    return s;
  }

private:
  using Kind = RoleEventKind;

  void side(std::vector<std::vector<RoleEvent>> &lists, unsigned ring, int tokens, Kind waits,
            Kind arrives) {
    std::vector<RoleEvent> list;
    int stage = chance(75) ? 0 : pick(1, 2);
    int lag = chance(75) ? 0 : pick(1, 2);
    for (int t = 0; t < tokens; ++t) {
      RoleEvent wait, arrive;
      wait.kind = waits;
      arrive.kind = arrives;
      wait.ring = arrive.ring = ring;
      wait.token = arrive.token = t;
      wait.stage = stage;
      arrive.stage = stage + lag;
      if (chance(90))
        list.push_back(wait);
      list.push_back(arrive);
    }
    // A side waits for all of its tokens or for none.
    size_t waiting =
        std::count_if(list.begin(), list.end(), [&](auto &e) { return e.kind == waits; });
    if (waiting != size_t(tokens))
      std::erase_if(list, [&](auto &e) { return e.kind == waits; });
    lists.push_back(std::move(list));
  }

  std::vector<RoleEvent> merge(std::vector<std::vector<RoleEvent>> lists, bool disorder) {
    std::vector<RoleEvent> out;
    std::vector<size_t> at(lists.size(), 0);
    while (true) {
      std::vector<size_t> open;
      for (size_t i = 0; i < lists.size(); ++i)
        if (at[i] < lists[i].size())
          open.push_back(i);
      if (open.empty())
        break;
      size_t i = open[pick(0, int(open.size()) - 1)];
      out.push_back(lists[i][at[i]++]);
    }
    if (disorder)
      std::shuffle(out.begin(), out.end(), rng);
    return out;
  }

  /// A role that runs twice as often with half the tokens.
  void unrollOne(RoleSystem &s) {
    for (Role &role : s.roles) {
      if (!chance(30) || role.events.empty())
        continue;
      std::map<std::pair<Kind, unsigned>, int> count;
      for (const RoleEvent &e : role.events)
        ++count[{e.kind, e.ring}];
      bool even =
          std::all_of(count.begin(), count.end(), [](auto &c) { return c.second % 2 == 0; });
      if (!even)
        continue;
      std::erase_if(role.events,
                    [&](const RoleEvent &e) { return e.token >= count[{e.kind, e.ring}] / 2; });
      role.factor = 2;
    }
  }

  void addLink(RoleSystem &s) {
    int from = pick(0, int(s.roles.size()) - 1);
    int to = pick(0, int(s.roles.size()) - 1);
    if (s.roles[from].factor != 1 || s.roles[to].factor != 1)
      return;
    s.links.push_back({"link", chance(20) ? -1 : pick(0, 2)});
    auto add = [&](Role &role, Kind kind) {
      RoleEvent e;
      e.kind = kind;
      e.stage = chance(80) ? 0 : 1;
      size_t at = pick(0, int(role.events.size()));
      if (at < role.innerAt)
        ++role.innerAt;
      role.events.insert(role.events.begin() + at, e);
    };
    add(s.roles[from], Kind::Signal);
    add(s.roles[to], Kind::Await);
  }

  void damage(RoleSystem &s) {
    Role &role = s.roles[pick(0, int(s.roles.size()) - 1)];
    auto &events = role.inner.empty() ? role.events : role.inner;
    if (!events.empty())
      events.erase(events.begin() + pick(0, int(events.size()) - 1));
  }

  std::mt19937_64 rng;
};

} // namespace penstock::sched::test

#endif // PENSTOCK_UNITTESTS_SCHEDULING_RANDOMROLES_H
