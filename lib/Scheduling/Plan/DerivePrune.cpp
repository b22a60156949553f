//===- DerivePrune.cpp - Leaves out superfluous synchronization -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/DeriveParts.h"
#include "Scheduling/Plan/PlanChecks.h"
#include "Scheduling/Plan/PlanForm.h"

#include <algorithm>

namespace penstock::sched {
namespace {

/// More slots than this separate no phases that fewer do not.
constexpr int64_t mostSlots = 16;

bool fewestSlots(Plan &plan, const LoopModel &model, BarrierId b) {
  int64_t given = plan.barriers[b].slots;
  for (int64_t slots = given; slots <= mostSlots; ++slots) {
    plan.barriers[b].slots = slots;
    if (verifier::phasesKept(plan, model, b))
      return true;
  }
  plan.barriers[b].slots = given;
  return false;
}

bool arrivesOn(const PlanPoint &point, BarrierId b) {
  return point.barrier == b && (point.kind == PlanPoint::Arrive ||
                                point.kind == PlanPoint::Expect || point.kind == PlanPoint::Commit);
}

/// Makes the arrivals on a barrier wait until its waiters have seen the token that
/// used the slot before: a barrier in the other direction, or a join in one role.
void addWayBack(Plan &plan, BarrierId b) {
  int64_t slots = plan.barriers[b].slots;
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &point : role.points)
      if (point.barrier == b && point.kind == PlanPoint::WaitBarrier)
        slots = std::max(slots, point.distance + 1);
  plan.barriers[b].slots = slots;
  size_t waiters = plan.roles.size();
  for (size_t r = 0; r < waiters; ++r) {
    std::vector<PlanPoint> &points = plan.roles[r].points;
    bool arrives = std::any_of(points.begin(), points.end(),
                               [&](const PlanPoint &p) { return arrivesOn(p, b); });
    for (size_t p = 0; p < points.size(); ++p) {
      if (points[p].barrier != b || points[p].kind != PlanPoint::WaitBarrier)
        continue;
      PlanPoint wait = points[p];
      if (arrives) {
        // Before the arrival, so that the leader does not run ahead of the others.
        for (size_t q = 0; q < points.size(); ++q)
          if (arrivesOn(points[q], b)) {
            PlanPoint join;
            join.kind = PlanPoint::Join;
            join.at = points[q].at;
            join.stage = points[q].stage;
            points.insert(points.begin() + ptrdiff_t(q), join);
            p += q <= p;
            ++q;
          }
        continue;
      }
      BarrierId back = BarrierId(plan.barriers.size());
      PlanPoint arrive = wait;
      arrive.kind = PlanPoint::Arrive;
      arrive.barrier = back;
      arrive.distance = 0;
      arrive.count = wait.leader ? 1 : 32 * plan.roles[r].warps;
      plan.barriers.push_back({"back " + plan.barriers[b].name, slots, arrive.count, 0});
      points.insert(points.begin() + ptrdiff_t(p) + 1, arrive);
      for (PlanRole &other : plan.roles)
        for (size_t q = 0; q < other.points.size(); ++q)
          if (arrivesOn(other.points[q], b)) {
            PlanPoint acquire;
            acquire.kind = PlanPoint::WaitBarrier;
            acquire.at = other.points[q].at;
            acquire.stage = other.points[q].stage;
            acquire.barrier = back;
            acquire.distance = slots - wait.distance;
            acquire.leader = other.points[q].leader;
            other.points.insert(other.points.begin() + ptrdiff_t(q), acquire);
            ++q;
          }
    }
  }
}

/// Erases a barrier and renumbers the rest.
void eraseBarrier(Plan &plan, BarrierId b) {
  plan.barriers.erase(plan.barriers.begin() + ptrdiff_t(b));
  for (PlanRole &role : plan.roles)
    for (auto *points : {&role.points, &role.drain}) {
      points->erase(std::remove_if(points->begin(), points->end(),
                                   [&](const PlanPoint &p) { return p.barrier == b; }),
                    points->end());
      for (PlanPoint &point : *points)
        if (point.barrier != none && point.barrier > b)
          --point.barrier;
    }
}

/// Waits that others make superfluous would only ask for more slots.
void dropImpliedWaits(Plan &plan, const LoopModel &model) {
  verifier::Suspect suspect;
  if (!verifier::conflictsOrdered(plan, model))
    return;
  for (PlanRole &role : plan.roles)
    for (size_t i = role.points.size(); i-- > 0;) {
      if (role.points[i].kind != PlanPoint::WaitBarrier)
        continue;
      PlanPoint wait = role.points[i];
      role.points.erase(role.points.begin() + ptrdiff_t(i));
      bool last = !verifier::malformedPoints(plan).empty(); // of its barrier
      if (last || !verifier::conflictsOrdered(plan, model, &suspect))
        role.points.insert(role.points.begin() + ptrdiff_t(i), wait);
    }
}

bool signaled(const Plan &plan, BarrierId b) {
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &point : role.points)
      if (point.kind == PlanPoint::Issue && point.barrier == b)
        return true;
  return false;
}

bool isFencedJoin(const std::vector<PlanPoint> &points, size_t join) {
  return join < points.size() && points[join].kind == PlanPoint::Join &&
         points[join - 1].kind == PlanPoint::Fence;
}

/// Replaces a join and the fence before it by a fence before another join.
void moveFence(std::vector<PlanPoint> &points, size_t join, size_t to) {
  PlanPoint fence = points[join - 1];
  fence.stage = points[to].stage;
  fence.at = points[to].at;
  points.insert(points.begin() + ptrdiff_t(to), fence);
  auto fenced = points.begin() + ptrdiff_t(join < to ? join - 1 : join);
  points.erase(fenced, fenced + 2);
}

} // namespace

bool separatePhases(Plan &plan) {
  if (!verifier::malformedPoints(plan).empty())
    return false;
  LoopModel model(plan.bound);
  dropImpliedWaits(plan, model);
  // A way back is a barrier of its own, whose phases must be kept apart as well.
  size_t given = plan.barriers.size();
  for (BarrierId b = 0; b < plan.barriers.size() && plan.barriers.size() <= 4 * given + 4; ++b)
    if (!fewestSlots(plan, model, b)) {
      addWayBack(plan, b);
      if (!fewestSlots(plan, model, b) && b >= given)
        return false;
    }
  // Ways back of later barriers can complete what an earlier one lacked.
  for (BarrierId b = 0; b < plan.barriers.size(); ++b)
    if (!fewestSlots(plan, model, b))
      return false;
  return true;
}

void prune(Plan &plan) {
  LoopModel model(plan.bound);
  verifier::Suspect suspect;
  auto covered = [&] {
    return verifier::malformedPoints(plan).empty() &&
           verifier::gaps(plan, model, true, &suspect).empty();
  };
  if (!covered())
    return;
  // Roles that wait less cannot hang where they did not before.
  auto attempt = [&](auto &&edit) {
    std::vector<PlanRole> roles = plan.roles;
    std::vector<PlanBarrier> barriers = plan.barriers;
    edit();
    if (covered())
      return true;
    plan.roles = std::move(roles);
    plan.barriers = std::move(barriers);
    return false;
  };
  for (BarrierId b = 0; b < plan.barriers.size();)
    if (signaled(plan, b) || !attempt([&] { eraseBarrier(plan, b); }))
      ++b;
  // Copies that complete barriers need no groups if the end of the loop awaits these barriers.
  for (size_t r = 0; r < plan.roles.size(); ++r)
    for (const PlanPoint &wait : std::vector<PlanPoint>(plan.roles[r].drain)) {
      auto isGroup = [&](const PlanPoint &point) {
        return point.engine == wait.engine && point.barrier == none &&
               (point.kind == PlanPoint::WaitGroup || point.kind == PlanPoint::Commit);
      };
      if (wait.kind == PlanPoint::WaitGroup)
        attempt([&] {
          std::erase_if(plan.roles[r].points, isGroup);
          std::erase_if(plan.roles[r].drain, isGroup);
        });
    }
  auto leaveOut = [&](PlanPoint::Kind kind) {
    for (size_t r = 0; r < plan.roles.size(); ++r)
      for (auto list : {&PlanRole::points, &PlanRole::drain})
        for (size_t i = 0; i < (plan.roles[r].*list).size();) {
          auto erase = [&] {
            std::vector<PlanPoint> &points = plan.roles[r].*list;
            points.erase(points.begin() + ptrdiff_t(i));
          };
          if ((plan.roles[r].*list)[i].kind != kind || !attempt(erase))
            ++i;
        }
  };
  // Expensive points first: a join costs more than a wait, a wait more than a fence.
  leaveOut(PlanPoint::Join);
  // A join that only its fence distinguishes from another one: that one can have the fence.
  for (size_t r = 0; r < plan.roles.size(); ++r)
    for (size_t i = 1; i < plan.roles[r].points.size(); ++i)
      for (size_t j = 0; isFencedJoin(plan.roles[r].points, i) && j < plan.roles[r].points.size();
           ++j)
        if (j != i && plan.roles[r].points[j].kind == PlanPoint::Join)
          attempt([&] { moveFence(plan.roles[r].points, i, j); });
  for (PlanPoint::Kind kind :
       {PlanPoint::WaitBarrier, PlanPoint::WaitGroup, PlanPoint::Fence, PlanPoint::Commit})
    leaveOut(kind);
}

} // namespace penstock::sched
