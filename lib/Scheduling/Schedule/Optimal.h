//===- Optimal.h - The schedule of the exact solver -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a loop to the schedule with the minimal interval. The modulo problem of Modulo.h lets
// every statement start by itself; here one group of warps issues all statements in order, as
// in Predict.h: a synchronous statement holds the group until it is done, the issue of an
// asynchronous one takes a cycle.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_OPTIMAL_H
#define PENSTOCK_SCHEDULING_SCHEDULE_OPTIMAL_H

#include "Scheduling/Schedule/Infer.h"
#include "Scheduling/Schedule/Modulo.h"

namespace penstock::sched {

struct OptimalOptions {
  /// Largest number of versions of a tile, and of stages of the inferred schedules that the
  /// result is compared with; 0: 8.
  int64_t numStages = 0;
  int64_t milliseconds = 0;
};

struct OptimalSchedule {
  /// The problem with the versions of the schedule stated.
  Problem problem;
  /// No value if there is an error.
  std::optional<Schedule> schedule;
  Verdict verdict;
  /// Minimal interval of the solver's model.
  int64_t provenInterval = 0;
  /// The stages of the inferred schedule that replaces the solution; 0: none does.
  int64_t inferredStages = 0;
  std::vector<Diagnostic> diagnostics;
};

/// Solves for the minimal interval, and then for the fewest bytes. An inferred schedule
/// replaces the solution if Predict.h gives it the shorter interval, which is by the cycles of
/// issues at most. \p problem must pass checkProblem().
OptimalSchedule optimalSchedule(const Problem &problem, const OptimalOptions &);

/// The modulo problem of a loop whose statements one group of warps issues in order. Its first
/// operations are the issues of the statements. Public for tests.
ModuloFromLoop inOrderProblem(const Problem &, unsigned maxVersions);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_OPTIMAL_H
