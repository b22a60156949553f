//===- DeriveNeeds.cpp - The conflicts that a plan must order -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Plan/DeriveParts.h"
#include "Scheduling/Problem/LoopModel.h"

#include <algorithm>
#include <map>

namespace penstock::sched {

void addRefusal(Plan &plan, StatementId at, StatementId other, std::string message) {
  Diagnostic d;
  d.code = PlanNotDerived;
  d.location = plan.bound.statements[at].location;
  d.message = std::move(message);
  if (other != none)
    d.notes.push_back({plan.bound.statements[other].location,
                       "`" + plan.bound.statements[other].name + "` is here", ""});
  plan.diagnostics.push_back(std::move(d));
}

bool checkRoleInput(Plan &plan, const Schedule &schedule, const RoleAssignment &roles) {
  auto statement = [&](StatementId s) -> const Statement & { return plan.bound.statements[s]; };
  size_t count = plan.bound.statements.size();
  if (schedule.stage.size() != count || schedule.order.size() != count ||
      roles.roleOf.size() != count) {
    Diagnostic d;
    d.code = PlanNotDerived;
    d.location = plan.bound.location;
    d.message = "a schedule and roles have one entry for each statement";
    plan.diagnostics.push_back(std::move(d));
    return false;
  }
  std::map<QueueId, StatementId> first;
  for (StatementId s = 0; s < count; ++s) {
    if (roles.roleOf[s] >= roles.names.size())
      addRefusal(plan, s, none, "`" + statement(s).name + "` has an unknown role");
    if (statement(s).queue != none) {
      StatementId other = first.emplace(statement(s).queue, s).first->second;
      if (roles.roleOf[s] != roles.roleOf[other])
        addRefusal(plan, s, other,
                   "`" + statement(other).name + "` and `" + statement(s).name +
                       "` use one queue and must share a role");
    }
    StatementId parent = statement(s).parent;
    if (parent != none &&
        (schedule.stage[s] != schedule.stage[parent] || roles.roleOf[s] != roles.roleOf[parent]))
      addRefusal(plan, s, parent,
                 "`" + statement(s).name + "` must have the stage and the role of `" +
                     statement(parent).name + "`");
  }
  return plan.diagnostics.empty();
}

std::vector<Need> findNeeds(Plan &plan, const Schedule &schedule, const RoleAssignment &roles) {
  auto statement = [&](StatementId s) -> const Statement & { return plan.bound.statements[s]; };
  std::vector<Need> needs;
  LoopModel model(plan.bound);
  for (const Pair &pair : model.pairs) {
    int64_t slots = plan.slots[pair.buffer], d = 0;
    while (d <= maxDistance && !pair.occursAt(d))
      d += slots;
    if (d > maxDistance || (plan.straight && d > 0))
      continue;
    const Statement &first = statement(pair.first), &second = statement(pair.second);
    auto at = [&](StatementId s, int64_t k) {
      return std::pair(k + schedule.stage[s], schedule.order[s]);
    };
    if (at(pair.first, 0) >= at(pair.second, d)) {
      addRefusal(plan, pair.second, pair.first,
                 "`" + second.name + "` runs before `" + first.name +
                     "`, which it must follow: the schedule is not legal");
      continue;
    }
    bool sameRole = roles.roleOf[pair.first] == roles.roleOf[pair.second];
    const std::vector<BufferId> *ordered =
        first.queue != none && plan.bound.queues[first.queue].inOrder
            ? &plan.bound.queues[first.queue].orders
            : nullptr;
    if (ordered && sameRole && first.async && second.async && second.queue == first.queue &&
        first.executedBy == second.executedBy &&
        std::find(ordered->begin(), ordered->end(), pair.buffer) != ordered->end())
      continue; // the hardware keeps them in order
    Space space = plan.bound.buffers[pair.buffer].space;
    if (space == Space::Local && !sameRole) {
      addRefusal(plan, pair.second, pair.first,
                 "`" + second.name + "` and `" + first.name + "` share the registers of `" +
                     plan.bound.buffers[pair.buffer].name + "` and must share a role");
      continue;
    }
    Need need{pair.first, pair.second, d, pair.firstWrites};
    bool allThreads =
        !mechanismOf(first.executedBy).leader && !mechanismOf(second.executedBy).leader;
    bool held = pair.firstHolder != none && pair.firstHolder == pair.secondHolder;
    need.sameThread = sameRole && allThreads && (space == Space::Local || held);
    if (space == Space::Local)
      need.registerFence = second.executedBy == Engine::Wgmma && first.executedBy != Engine::Wgmma;
    else if (space == Space::Tensor)
      need.tensorFences = !sameRole || need.crosses(plan.bound);
    else
      need.proxyFence = pair.firstProxy == Proxy::Generic && pair.secondProxy == Proxy::Async;
    needs.push_back(need);
  }
  return needs;
}

} // namespace penstock::sched
