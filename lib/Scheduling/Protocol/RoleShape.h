//===- RoleShape.h - Unrolling and executing roles --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helpers shared by the checks of role systems; private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROTOCOL_ROLESHAPE_H
#define PENSTOCK_SCHEDULING_PROTOCOL_ROLESHAPE_H

#include "Scheduling/Protocol/Roles.h"

namespace penstock::sched {

/// The events of a role for one iteration of the common loop: its own body
/// `factor` times, tokens and stages renumbered, in the order of a step.
std::vector<RoleEvent> unrolled(const Role &role);

/// The instances (event, iteration) of a loop of \p n iterations in the order
/// in which they run.
std::vector<std::pair<size_t, int64_t>> executionOrder(const std::vector<RoleEvent> &events,
                                                       int64_t n);

const char *roleEventName(RoleEventKind kind);
/// Signals and awaits are on links, all others on rings.
bool onLink(RoleEventKind kind);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROTOCOL_ROLESHAPE_H
