//===- GroupCounts.cpp - Groups with and without operations ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/GroupCounts.h"

using namespace penstock;
using namespace penstock::nvptx;
using sched::PlanPoint;

namespace {

bool closes(const PlanPoint &point, sched::Engine engine) {
  return point.kind == PlanPoint::Commit && point.barrier == sched::none && point.engine == engine;
}

/// Points of the steps of a role, from the latest to the earliest.
struct Backwards {
  const std::vector<PlanPoint> &points;
  size_t at;        ///< one after the current point
  int64_t back = 0; ///< the step of that point

  const PlanPoint &next() {
    if (at == 0) {
      at = points.size();
      ++back;
    }
    return points[--at];
  }
};

} // namespace

bool nvptx::closesGroup(const sched::Plan &plan, const sched::PlanRole &role, size_t at,
                        const ClosedBefore &stages) {
  sched::Engine engine = role.points[at].engine;
  Backwards walk{role.points, at};
  // A group reaches back to the commit before, which may be this one of the step before.
  for (const PlanPoint *point = &walk.next(); !closes(*point, engine); point = &walk.next())
    if (point->kind == PlanPoint::Issue && plan.bound.statements[point->at].executedBy == engine &&
        stages(walk.back).contain(point->stage))
      return true;
  return false;
}

int64_t nvptx::countGroups(const sched::Plan &plan, const sched::PlanRole &role,
                           sched::Engine engine, int64_t pending, size_t at,
                           const ClosedBefore &stages) {
  if (pending == 0) // also where an engine has no groups
    return 0;
  int64_t found = 0, counted = 0;
  for (Backwards walk{role.points, at}; found < pending;) {
    if (!closes(walk.next(), engine))
      continue;
    ++found;
    auto before = [&](int64_t back) { return stages(walk.back + back); };
    counted += closesGroup(plan, role, walk.at, before);
  }
  return counted;
}
