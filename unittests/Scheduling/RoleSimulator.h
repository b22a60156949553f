//===- RoleSimulator.h - Roles executed event by event ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a role system for concrete trip counts. It shares nothing with the
// checker but the data types: programs are laid out from the definition (sort
// all instances by step and position) and executed until nothing can move.
// Arrivals never disable anything, so one maximal run decides.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_SCHEDULING_ROLESIMULATOR_H
#define PENSTOCK_UNITTESTS_SCHEDULING_ROLESIMULATOR_H

#include "Scheduling/Protocol/Roles.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace penstock::sched::test {

using Kind = RoleEventKind;

struct Action {
  Kind kind;
  unsigned on;
  int64_t token;
};
using Program = std::vector<Action>;

class Layout {
public:
  explicit Layout(const RoleSystem &system) : system(system) {}

  /// counts[t] is the number of inner iterations of outer iteration t; for a
  /// system without inner loops only the length matters.
  /// Tiles that only peeled code has run \p extra inner iterations.
  std::vector<Program> programs(const std::vector<int64_t> &counts, int64_t extra) const {
    std::vector<Program> result;
    for (const Role &role : system.roles)
      result.push_back(program(role, counts, extra));
    return result;
  }

private:
  using Position = std::tuple<int64_t, size_t, int64_t>; // step, position, k

  static std::vector<Position> positions(const std::vector<RoleEvent> &events, int64_t trips) {
    std::vector<Position> all;
    for (size_t i = 0; i < events.size(); ++i)
      for (int64_t k = 0; k < trips; ++k)
        all.emplace_back(k + events[i].stage, i, k);
    std::sort(all.begin(), all.end());
    return all;
  }
  /// How many tokens of that kind one pass over the events handles.
  static int64_t perPass(const std::vector<RoleEvent> &events, Kind kind, unsigned on) {
    return std::count_if(events.begin(), events.end(),
                         [&](auto &e) { return e.kind == kind && e.ring == on; });
  }

  Program program(const Role &role, const std::vector<int64_t> &counts, int64_t extra) const {
    int64_t n = int64_t(counts.size());
    int64_t outer = std::max(n, role.leastTrips) * role.factor + role.extra;
    Program out;
    if (role.inner.empty()) {
      for (auto [step, i, k] : positions(role.events, outer))
        push(out, role.events, role.events[i], k);
      return out;
    }
    // With an inner loop the outer events keep their stages around it.
    std::map<std::pair<Kind, unsigned>, int64_t> innerBase;
    int64_t low = 0, high = 0;
    for (const RoleEvent &e : role.events) {
      low = std::min(low, e.stage);
      high = std::max(high, e.stage);
    }
    for (int64_t step = low; step < outer + high; ++step)
      for (size_t i = 0; i <= role.events.size(); ++i) {
        if (i == std::min(role.innerAt, role.events.size()) && step >= 0 && step < outer) {
          int64_t count = std::max(step < n ? counts[step] : extra, role.innerLeastTrips);
          for (auto [s, j, q] : positions(role.inner, count)) {
            const RoleEvent &e = role.inner[j];
            out.push_back(
                {e.kind, e.ring,
                 innerBase[{e.kind, e.ring}] + q * perPass(role.inner, e.kind, e.ring) + e.token});
          }
          for (const RoleEvent &e : role.inner)
            innerBase[{e.kind, e.ring}] += count;
        }
        if (i == role.events.size())
          continue;
        int64_t k = step - role.events[i].stage;
        if (k >= 0 && k < outer)
          push(out, role.events, role.events[i], k);
      }
    return out;
  }
  static void push(Program &out, const std::vector<RoleEvent> &events, const RoleEvent &e,
                   int64_t k) {
    out.push_back({e.kind, e.ring, k * perPass(events, e.kind, e.ring) + e.token});
  }

  const RoleSystem &system;
};

/// Do all roles end, and does every ring end with as many tokens acquired as
/// committed, awaited and released?
inline bool runsCleanly(const RoleSystem &system, const std::vector<int64_t> &counts,
                        int64_t extra = 0) {
  std::vector<Program> programs = Layout(system).programs(counts, extra);
  // Arrivals per (kind, ring): for each arriving role the set of tokens done.
  using Key = std::pair<Kind, unsigned>;
  std::map<Key, std::vector<std::vector<bool>>> done;
  std::map<Key, std::map<size_t, size_t>> slotOfRole;
  std::map<Key, std::vector<int64_t>> totals;
  for (size_t r = 0; r < programs.size(); ++r) {
    std::map<Key, int64_t> mine;
    const Role &role = system.roles[r];
    for (auto *events : {&role.events, &role.inner})
      for (const RoleEvent &e : *events)
        mine[{e.kind, e.ring}] += 0;
    for (const Action &a : programs[r])
      ++mine[{a.kind, a.on}];
    for (auto &[key, total] : mine) {
      totals[key].push_back(total);
      slotOfRole[key][r] = done[key].size();
      done[key].emplace_back();
    }
  }
  // Every side of a ring has handled the same number.
  for (auto &[key, numbers] : totals)
    for (auto &[other, more] : totals) {
      auto link = [](Kind k) { return k == Kind::Signal || k == Kind::Await; };
      if (key.second == other.second && link(key.first) == link(other.first) &&
          (numbers != std::vector<int64_t>(numbers.size(), more.front())))
        return false;
    }
  auto arrived = [&](Kind kind, unsigned on, int64_t token) {
    auto found = done.find({kind, on});
    if (found == done.end())
      return false;
    for (const std::vector<bool> &role : found->second)
      if (token >= int64_t(role.size()) || !role[token])
        return false;
    return true;
  };
  auto mayRun = [&](const Action &a) {
    switch (a.kind) {
    case Kind::Acquire: {
      int64_t token = a.token - system.rings[a.on].slots;
      return token < 0 || arrived(Kind::Release, a.on, token);
    }
    case Kind::Wait:
      return arrived(Kind::Commit, a.on, a.token);
    case Kind::Await: {
      int64_t token = a.token - system.links[a.on].distance;
      return token < 0 || arrived(Kind::Signal, a.on, token);
    }
    default:
      return true;
    }
  };
  std::vector<size_t> at(programs.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t r = 0; r < programs.size(); ++r)
      while (at[r] < programs[r].size() && mayRun(programs[r][at[r]])) {
        const Action &a = programs[r][at[r]++];
        Key key{a.kind, a.on};
        auto &tokens = done[key][slotOfRole[key][r]];
        if (a.token >= int64_t(tokens.size()))
          tokens.resize(a.token + 1);
        tokens[a.token] = true;
        moved = true;
      }
  }
  for (size_t r = 0; r < programs.size(); ++r)
    if (at[r] < programs[r].size())
      return false;
  return true;
}

} // namespace penstock::sched::test

#endif // PENSTOCK_UNITTESTS_SCHEDULING_ROLESIMULATOR_H
