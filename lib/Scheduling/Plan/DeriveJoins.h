//===- DeriveJoins.h - Fewest joins for a role ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to Derive.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_DERIVEJOINS_H
#define PENSTOCK_SCHEDULING_PLAN_DERIVEJOINS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::sched {

/// A stretch of the program order of a role in which all threads must meet: after
/// issue `fromIndex` of step `fromStep`, before issue `toIndex` of step `toStep`.
/// Both steps are relative to iteration k of the first statement, and iterations
/// k .. k + distance exist.
struct Stretch {
  int64_t fromStep = 0;
  size_t fromIndex = 0;
  int64_t toStep = 0;
  size_t toIndex = 0;
  int64_t distance = 0;
};

/// A point before issue `gap` of a step.
struct GapPoint {
  size_t gap = 0;
  int64_t stage = 0;
  friend bool operator==(const GapPoint &, const GapPoint &) = default;
};

/// The step, relative to iteration k, in which a point lies in a stretch: the latest
/// one, so that asynchronous operations get the most time; -1 if there is none.
int64_t stepWithin(const Stretch &, const GapPoint &);

/// Points that lie in all stretches: one or two if that is enough, otherwise few.
/// Among equally many, those that come latest.
std::vector<GapPoint> stab(const std::vector<Stretch> &, size_t issues, int64_t stages);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PLAN_DERIVEJOINS_H
