//===- GroupCounts.h - Groups with and without operations -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans. A plan closes a group of an engine in every step, and its
// waits count them. In the first and last steps a group may be empty, and the assembler
// does not count groups without products: such a group is not closed, and waits leave it
// out.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_GROUPCOUNTS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_GROUPCOUNTS_H

#include "Scheduling/Plan/Plan.h"

#include <functional>

namespace penstock::nvptx {

/// The stages whose groups a step closes.
struct ClosedStages {
  int64_t first = 0, last = -1;
  bool contain(int64_t stage) const { return first <= stage && stage <= last; }
};

/// The stages of the step that lies a number of steps back; 0: of the current one.
using ClosedBefore = std::function<ClosedStages(int64_t back)>;

/// Returns whether commit \p at of a role closes a group with operations.
bool closesGroup(const sched::Plan &plan, const sched::PlanRole &role, size_t at,
                 const ClosedBefore &stages);

/// Of the \p pending groups of \p engine that the plan has closed last before point \p at,
/// those that have operations. \p at may be the end of a step.
int64_t countGroups(const sched::Plan &plan, const sched::PlanRole &role, sched::Engine engine,
                    int64_t pending, size_t at, const ClosedBefore &stages);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_GROUPCOUNTS_H
