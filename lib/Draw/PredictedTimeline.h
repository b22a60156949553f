//===- PredictedTimeline.h - Timelines of schedules -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_PREDICTEDTIMELINE_H
#define PENSTOCK_DRAW_PREDICTEDTIMELINE_H

#include "Draw/Timeline.h"
#include "Scheduling/Schedule/Predict.h"

namespace penstock::draw {

/// Predicts the execution of a legal schedule. Engines are rows; each role that ever
/// waits has a row for its waits.
Timeline predictTimeline(const sched::Problem &, const sched::Schedule &, int64_t iterations,
                         const sched::RoleAssignment &roles);
Timeline predictTimeline(const sched::Problem &, const sched::Schedule &, int64_t iterations);

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_PREDICTEDTIMELINE_H
