//===- DeriveParts.h - A plan while it is derived ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the derivation of plans.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_DERIVEPARTS_H
#define PENSTOCK_SCHEDULING_PLAN_DERIVEPARTS_H

#include "Scheduling/Plan/Mechanisms.h"
#include "Scheduling/Plan/Plan.h"

namespace penstock::sched {

/// Positions of points around an issue, in program order.
enum class Slot {
  WaitGroup,
  Release, ///< an arrival for what the wait has shown
  WaitBarrier,
  FenceBefore, ///< of earlier accesses, before threads meet
  Join,
  FenceAfter, ///< of later accesses, after threads have met
  Expect,
  Issue,
  Commit,
  TrailingWait, ///< of an arrival after the issue
  TrailingFence,
  Arrive
};

/// A point next to issue number `issue` of its role.
struct Placed {
  size_t issue = 0;
  Slot slot = Slot::Issue;
  PlanPoint point;
};

/// A conflict at its nearest distance.
struct Need {
  StatementId first = none, second = none;
  int64_t distance = 0;
  bool writes = false; ///< the first writes
  bool sameThread = false;
  bool proxyFence = false, registerFence = false, tensorFences = false;

  /// Must one thread learn what another one did?
  bool crosses(const Problem &problem) const {
    auto leader = [&](StatementId s) {
      return mechanismOf(problem.statements[s].executedBy).leader;
    };
    return !sameThread && !(leader(first) && leader(second));
  }
};

/// Adds a diagnostic: the reason why a plan cannot be derived.
void addRefusal(Plan &, StatementId at, StatementId other, std::string message);

/// Do schedule and roles fit the loop, and can the roles be told apart?
bool checkRoleInput(Plan &, const Schedule &, const RoleAssignment &);

/// The conflicts of the loop of a plan whose slots are known, without those that the
/// hardware keeps in order.
std::vector<Need> findNeeds(Plan &, const Schedule &, const RoleAssignment &);

/// Leaves out points, and whole barriers, without which everything stays ordered.
void prune(Plan &plan);

/// Raises slots until phases are kept apart; false if no number of slots does it.
bool separatePhases(Plan &plan);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PLAN_DERIVEPARTS_H
