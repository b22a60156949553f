//===- WarpSpecialize.h - A schedule run by several roles -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other way to run a schedule: each role runs its own statements in the
// order of the schedule, and every conflict between roles becomes a barrier. A
// tile that one role fills and others read becomes a ring with a full and an
// empty barrier per slot; whatever does not have that form becomes a link from
// the end of one statement to the start of the other. All roles follow one
// common order, so they cannot wait for each other in a circle.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_WARPSPECIALIZE_H
#define PENSTOCK_SCHEDULING_WARPSPECIALIZE_H

#include "Scheduling/Modulo.h"
#include "Scheduling/Roles.h"
#include "Scheduling/Verify.h"

namespace penstock::sched {

/// Where an event of a role stands: right before `anchor` is issued, or right
/// after `anchor`, of the same iteration plus `distance`.
struct EventAnchor {
  StatementId statement = none;
  bool after = false;
  int64_t distance = 0;
};

struct WarpSpecialized {
  RoleSystem system;
  /// Per role, the anchor of each of its events.
  std::vector<std::vector<EventAnchor>> anchors;
  /// Per ring, the buffer whose versions are its slots.
  std::vector<BufferId> ringBuffer;
  /// Why the statements cannot be divided like this.
  std::vector<Diagnostic> diagnostics;
};

/// \p schedule must be legal. Members of a queue, its commits and its waits
/// must share a role, and so must a scheduled scalar and its users.
WarpSpecialized warpSpecialize(const Problem &, const Schedule &, const RoleAssignment &roles);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_WARPSPECIALIZE_H
