//===- LoopPlans.h - Plans of pipelined loops -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans: from a loop with engines and roles to its plan.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LOOPPLANS_H
#define PENSTOCK_TARGET_NVPTX_LOOPPLANS_H

#include "Scheduling/Plan.h"
#include "Transforms/PipelineWriter.h"

namespace penstock::nvptx {

/// The role of all statements that no other role issues.
constexpr char computeRole[] = "compute";

/// Adds engines to the problem of a loop.
void bindEngines(PipelineLoop &loop);

/// Whether other roles of a loop are warps of their own: the compute warps have statements in
/// it, too, or one warp is not enough for a role.
bool needsWarps(const PipelineLoop &loop);

/// The plan of a loop that \p warps compute. Other roles are warps after these, \p own, or the
/// first of them. Where its roles cannot be synchronized, one group of warps executes the loop.
sched::Plan planOf(const ScheduledLoop &loop, int64_t warps, bool own, bool whole);

/// For tests: leaves out a point, unless that is a statement.
void leaveOut(sched::Plan &plan, size_t number);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LOOPPLANS_H
