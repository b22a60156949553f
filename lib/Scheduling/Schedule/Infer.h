//===- Infer.h - From num_stages to stage and order -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A user who asks for `num_stages` copies in flight gets a plan by a fixed
// rule, so that the same loop always gives the same plan: consumers stay in
// source order, copies run ahead of them and are issued right after the last
// use of the slot that they refill. Where that would be wrong, the copies run
// ahead only as far as is right, and the user is told why.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_INFER_H
#define PENSTOCK_SCHEDULING_SCHEDULE_INFER_H

#include "Scheduling/Schedule/VerifySchedule.h"

namespace penstock::sched {

struct Inferred {
  /// The plan; no value if the request was refused.
  std::optional<Schedule> schedule;
  Verdict verdict;
  /// Why the request was refused, or a warning that the plan is shallower.
  std::vector<Diagnostic> diagnostics;
};

/// \p problem must pass checkProblem().
Inferred infer(const Problem &problem, int64_t numStages);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_INFER_H
