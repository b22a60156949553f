//===- Predict.h - Simulation of a schedule ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The execution model behind `trace` and `explain`. A group of warps (a role)
// issues its statements in the order P. A statement is issued when the role has
// come to it and everything that it conflicts with has completed; it starts
// when its engine is free, keeps the engine for `busy` cycles, and completes
// after `latency`. A role goes on at once after an asynchronous statement, and
// after the completion of any other.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_SCHEDULE_PREDICT_H
#define PENSTOCK_SCHEDULING_SCHEDULE_PREDICT_H

#include "Scheduling/Plan/EventGraph.h"
#include "Scheduling/Schedule/Modulo.h"
#include "Scheduling/Schedule/VerifySchedule.h"

namespace penstock::sched {

/// All statements in one group of warps: the skewed loop.
RoleAssignment oneRole(const Problem &);

/// Cycles of one instance of a statement.
struct Times {
  int64_t waitFrom = 0; ///< its role is ready to issue it
  int64_t issue = 0, start = 0, done = 0;
  /// The instance that delays the issue longest.
  StatementId waitFor = none;
  int64_t waitForIteration = 0;
};
/// By statement and iteration.
using InstanceTimes = std::vector<std::vector<Times>>;

/// Runs the model; \p schedule must be legal.
InstanceTimes predictTimes(const Problem &, const Schedule &, int64_t iterations,
                           const RoleAssignment &roles);

/// Cycles per iteration in the long run, by running the model until it repeats.
Rational predictedInterval(const Problem &, const Schedule &, const RoleAssignment &roles);

/// The event graph of a schedule: issue and completion of every statement, the
/// order within each role, waits and slots. Its maximum cycle ratio is a lower
/// bound of the interval, and equal to it where no engine is shared.
EventGraph scheduleGraph(const Problem &, const Schedule &, const RoleAssignment &roles);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_SCHEDULE_PREDICT_H
