//===- PlanChecks.h - The parts of the verifier of plans --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this library. Pruning checks many plans of one loop: it computes the
// conflicts once and checks only what a change can break.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_PLANCHECKS_H
#define PENSTOCK_SCHEDULING_PLAN_PLANCHECKS_H

#include "Scheduling/Plan/Plan.h"
#include "Scheduling/Problem/LoopModel.h"

namespace penstock::sched::verifier {

/// The conflict of the model that was not ordered in a similar plan: checked first,
/// it saves most of the work for plans that are tried and rejected.
struct Suspect {
  size_t pair = size_t(-1);
};

/// All gaps of a well-formed plan, or only the first one.
std::vector<Uncovered> gaps(const Plan &, const LoopModel &, bool firstOnly, Suspect * = nullptr);

/// Are the conflicts of a well-formed plan ordered, whatever the phases?
bool conflictsOrdered(const Plan &, const LoopModel &, Suspect * = nullptr);

/// Are the phases of a barrier of a well-formed plan kept apart?
bool phasesKept(const Plan &, const LoopModel &, BarrierId);

} // namespace penstock::sched::verifier

#endif // PENSTOCK_SCHEDULING_PLAN_PLANCHECKS_H
