//===- RandomSyncPlan.h - Random loops, plans and changes of them -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_RANDOMSYNCPLAN_H
#define PENSTOCK_FUZZ_PIPELINES_RANDOMSYNCPLAN_H

#include "Scheduling/Plan/Plan.h"

namespace penstock::fuzz {

/// A loop with engines, a schedule of it and roles; often a legal one.
struct BoundLoop {
  sched::Problem problem;
  sched::Schedule schedule;
  sched::RoleAssignment roles;
  sched::RoleSizes sizes;
  bool straight = false; ///< one iteration, in source order
};
BoundLoop randomBoundLoop(uint64_t seed);

/// A well-formed plan with synchronization at random points, mostly too little.
sched::Plan randomSyncPlan(uint64_t seed);

/// A plan with one point left out or changed, and what was done.
struct ChangedPlan {
  sched::Plan plan;
  std::string what;
};
std::vector<ChangedPlan> changesOf(const sched::Plan &);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_RANDOMSYNCPLAN_H
