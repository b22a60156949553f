//===- PlanSystem.cpp - The barriers of a plan as a role system -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/Plan.h"

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
  auto add = [&](size_t r, size_t p, RoleEventKind kind) {
    const PlanPoint &point = plan.roles[r].points[p];
    RoleEvent event;
    event.kind = kind;
    event.ring = unsigned(system.links.size() - 1);
    event.stage = point.stage;
    if (point.at < plan.bound.statements.size())
      event.location = plan.bound.statements[point.at].location;
    events[r].emplace_back(p, event);
  };
  for (BarrierId b = 0; b < plan.barriers.size(); ++b) {
    std::vector<std::vector<size_t>> arrivals(plan.roles.size());
    size_t most = 0; // arrivals of one role
    for (size_t r = 0; r < plan.roles.size(); ++r) {
      const std::vector<PlanPoint> &points = plan.roles[r].points;
      for (size_t p = 0; p < points.size(); ++p)
        if (points[p].barrier == b && arrives(points[p]))
          arrivals[r].push_back(p);
      most = std::max(most, arrivals[r].size());
    }
    // A role handles each token of a link once, so each wait is a link, and so is each
    // of several arrivals of a role.
    for (size_t r = 0; r < plan.roles.size(); ++r)
      for (size_t p = 0; p < plan.roles[r].points.size(); ++p) {
        const PlanPoint &wait = plan.roles[r].points[p];
        if (wait.barrier != b || wait.kind != PlanPoint::WaitBarrier)
          continue;
        for (size_t i = 0; i < most; ++i) {
          system.links.push_back({plan.barriers[b].name, wait.distance, plan.barriers[b].slots});
          add(r, p, RoleEventKind::Await);
          for (size_t from = 0; from < plan.roles.size(); ++from)
            if (!arrivals[from].empty())
              add(from, arrivals[from][std::min(i, arrivals[from].size() - 1)],
                  RoleEventKind::Signal);
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
