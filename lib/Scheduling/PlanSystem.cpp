//===- PlanSystem.cpp - The barriers of a plan as a role system -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan.h"

#include <algorithm>

namespace penstock::sched {

namespace {

bool arrives(const PlanPoint &point) {
  return point.kind == PlanPoint::Arrive || point.kind == PlanPoint::Expect ||
         (point.kind == PlanPoint::Commit && point.barrier != none);
}

} // namespace

RoleSystem systemOf(const Plan &plan) {
  RoleSystem system;
  std::vector<std::vector<std::pair<size_t, RoleEvent>>> events(plan.roles.size());
  for (BarrierId b = 0; b < plan.barriers.size(); ++b) {
    std::vector<std::vector<size_t>> arrivals(plan.roles.size()), waits(plan.roles.size());
    size_t rings = 1;
    for (size_t r = 0; r < plan.roles.size(); ++r) {
      const std::vector<PlanPoint> &points = plan.roles[r].points;
      for (size_t p = 0; p < points.size(); ++p)
        if (points[p].barrier == b && points[p].kind == PlanPoint::WaitBarrier)
          waits[r].push_back(p);
        else if (points[p].barrier == b && arrives(points[p]))
          arrivals[r].push_back(p);
      rings = std::max({rings, arrivals[r].size(), waits[r].size()});
    }
    // A role handles each token of a ring once. Where it waits or arrives at several
    // points, each has a ring of its own, and roles with fewer points repeat their
    // last one.
    for (size_t i = 0; i < rings; ++i) {
      unsigned ring = unsigned(system.rings.size());
      system.rings.push_back({plan.barriers[b].name + (i ? " (" + std::to_string(i + 1) + ")" : ""),
                              plan.barriers[b].slots});
      auto add = [&](size_t r, const std::vector<size_t> &uses, RoleEventKind kind) {
        if (uses.empty())
          return;
        size_t p = uses[std::min(i, uses.size() - 1)];
        const PlanPoint &point = plan.roles[r].points[p];
        RoleEvent event;
        event.kind = kind;
        event.ring = ring;
        // Events are numbered by the token.
        event.stage = point.stage + (kind == RoleEventKind::Wait ? point.distance : 0);
        if (point.at < plan.bound.statements.size())
          event.place = plan.bound.statements[point.at].place;
        events[r].emplace_back(p, event);
      };
      for (size_t r = 0; r < plan.roles.size(); ++r) {
        add(r, arrivals[r], RoleEventKind::Commit);
        add(r, waits[r], RoleEventKind::Wait);
      }
    }
  }
  for (size_t r = 0; r < plan.roles.size(); ++r) {
    std::sort(events[r].begin(), events[r].end(), [](const auto &a, const auto &b) {
      return std::pair(a.first, a.second.ring) < std::pair(b.first, b.second.ring);
    });
    Role role;
    role.name = plan.roles[r].name;
    for (auto &[point, event] : events[r])
      role.events.push_back(event);
    system.roles.push_back(std::move(role));
  }
  return system;
}

int64_t pendingAt(const Plan &plan, unsigned r, size_t index, int64_t k, int64_t n) {
  const PlanRole &role = plan.roles[r];
  const PlanPoint &wait = role.points[index];
  // Among the groups that the plan counts, those whose statements all lie outside of
  // the loop do not exist here.
  int64_t step = k + wait.stage, counted = 0, real = 0;
  for (; counted < wait.pending && step >= 0; --step)
    for (size_t p = role.points.size(); p-- > 0 && counted < wait.pending;) {
      const PlanPoint &commit = role.points[p];
      if (commit.kind != PlanPoint::Commit || commit.barrier != none ||
          commit.engine != wait.engine || (step == k + wait.stage && p >= index))
        continue;
      ++counted;
      bool exists = step - commit.stage >= 0 && step - commit.stage < n;
      real += exists;
    }
  return real;
}

} // namespace penstock::sched
