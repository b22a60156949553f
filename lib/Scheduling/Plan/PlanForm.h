//===- PlanForm.h - Is a plan well formed -----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_PLANFORM_H
#define PENSTOCK_SCHEDULING_PLAN_PLANFORM_H

#include "Scheduling/Plan/Plan.h"

namespace penstock::sched::verifier {

/// Points that contradict the plan or each other: indices, arrivals and bytes that
/// do not add up, statements that are not issued once.
std::vector<Uncovered> malformedPoints(const Plan &);

} // namespace penstock::sched::verifier

#endif // PENSTOCK_SCHEDULING_PLAN_PLANFORM_H
