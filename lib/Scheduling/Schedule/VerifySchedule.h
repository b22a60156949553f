//===- VerifySchedule.h - Does a schedule keep every rule -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The judge of every schedule, whether a user wrote it, inference chose it or a
// solver found it. Its answer is data; Report.h turns violations into messages.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_VERIFYSCHEDULE_H
#define PENSTOCK_SCHEDULING_SCHEDULE_VERIFYSCHEDULE_H

#include "Scheduling/Problem/Versions.h"

namespace penstock::sched {

struct Violation {
  /// Which rule is broken: one code per rule, see Codes.def.
  unsigned code = 0;
  /// `first` in iteration k comes first sequentially, `second` in iteration
  /// k + distance after it.
  StatementId first = none;
  StatementId second = none;
  int64_t distance = 0;
  /// The wait, commit or fence that is involved.
  StatementId third = none;
  BufferId buffer = none;
  /// Versions that the buffer needs and has, where the number matters.
  unsigned versionsNeeded = 0;
  unsigned versionsHave = 0;
  /// VersionsDoNotFit: the space, and what would fit.
  Overflow overflow;
};

struct Verdict {
  std::vector<Violation> violations;
  /// Empty if the form of the schedule is wrong (lengths, stages, orders).
  std::vector<BufferVersions> versions;
  bool legal() const { return violations.empty(); }
};

/// \p problem must pass checkProblem().
Verdict verifySchedule(const Problem &problem, const Schedule &schedule, RuleSet rules = {});
/// The same on a model that is already there: solvers ask many times.
Verdict verifySchedule(const LoopModel &model, const Schedule &schedule);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_VERIFYSCHEDULE_H
