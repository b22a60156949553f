//===- PlanText.cpp - Plans as text ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Plan/Plan.h"

namespace penstock::sched {
namespace {

std::string number(int64_t value) { return std::to_string(value); }

const char *fenceName(FenceKind kind) {
  switch (kind) {
  case FenceKind::Proxy:
    return "proxy";
  case FenceKind::Registers:
    return "registers";
  case FenceKind::TensorBefore:
    return "tensor before";
  case FenceKind::TensorAfter:
    return "tensor after";
  }
  return "proxy";
}

} // namespace

std::string printPoint(const Plan &plan, const PlanPoint &point) {
  auto barrier = [&] {
    return point.barrier < plan.barriers.size() ? plan.barriers[point.barrier].name
                                                : std::string("?");
  };
  auto statement = [&] {
    return point.at < plan.bound.statements.size() ? plan.bound.statements[point.at].name
                                                   : std::string("?");
  };
  std::string out = point.leader ? "leader " : "";
  switch (point.kind) {
  case PlanPoint::Issue:
    out += "issue " + statement();
    if (point.barrier != none)
      out += " signals " + barrier() + " bytes " + number(point.bytes);
    break;
  case PlanPoint::WaitGroup:
    out += std::string("wait_group ") + engineName(point.engine) + " pending " +
           number(point.pending) + (point.readsOnly ? " reads" : "");
    break;
  case PlanPoint::WaitBarrier:
    out += "wait " + barrier() + " distance " + number(point.distance);
    break;
  case PlanPoint::Expect:
    out += "expect " + barrier() + " bytes " + number(point.bytes);
    break;
  case PlanPoint::Arrive:
    out += "arrive " + barrier() + " count " + number(point.count);
    break;
  case PlanPoint::Commit:
    out += std::string("commit ") + engineName(point.engine);
    if (point.barrier != none)
      out += " to " + barrier() + " count " + number(point.count);
    break;
  case PlanPoint::Fence:
    out += std::string("fence ") + fenceName(point.fence);
    break;
  case PlanPoint::Join:
    out += "join";
    break;
  }
  if (point.guarded)
    out += " when " + statement() + " runs";
  return out;
}

Diagnostic describe(const Plan &plan, const Uncovered &gap) {
  auto known = [&](StatementId s) { return s < plan.bound.statements.size(); };
  Diagnostic d;
  d.code = PlanUncovered;
  d.message = "the plan of `" + plan.bound.name + "` is not safe: " + gap.what;
  StatementId at = known(gap.second) ? gap.second : gap.first;
  d.location = known(at) ? plan.bound.statements[at].location : plan.bound.location;
  if (gap.kind == Uncovered::MissingFence)
    d.message += std::string(" (`fence ") + fenceName(gap.fence) + "` is missing)";
  if (known(gap.first) && known(gap.second)) {
    if (gap.distance)
      d.message += ", " + number(gap.distance) + " iterations apart";
    d.notes.push_back({plan.bound.statements[gap.first].location,
                       "`" + plan.bound.statements[gap.first].name + "` comes first", ""});
  }
  return d;
}

std::string printPlan(const Plan &plan) {
  std::string out = "plan " + plan.bound.name + "\n";
  for (BufferId b = 0; b < plan.slots.size() && b < plan.bound.buffers.size(); ++b)
    if (plan.slots[b] > 1)
      out += "  slots " + plan.bound.buffers[b].name + " " + number(plan.slots[b]) + "\n";
  for (const PlanBarrier &barrier : plan.barriers) {
    out += "  barrier " + barrier.name + " slots " + number(barrier.slots) + " arrivals " +
           number(barrier.arrivals);
    if (barrier.bytes)
      out += " bytes " + number(barrier.bytes);
    out += "\n";
  }
  for (const PlanRole &role : plan.roles) {
    out += "  role " + role.name + " warps " + number(role.firstWarp) + ".." +
           number(role.firstWarp + role.warps - 1) + "\n";
    for (const PlanPoint &point : role.points)
      out += "    [" + number(point.stage) + "] " + printPoint(plan, point) + "\n";
    for (const PlanPoint &point : role.drain)
      out += "    [end] " + printPoint(plan, point) + "\n";
  }
  return out;
}

} // namespace penstock::sched
