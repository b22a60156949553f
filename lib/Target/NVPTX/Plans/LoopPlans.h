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
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_LOOPPLANS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_LOOPPLANS_H

#include "Scheduling/Plan/Plan.h"
#include "Transforms/Pipeline/PipelineWriter.h"

#include <optional>

namespace penstock::nvptx {

/// The role of all statements that no other role issues.
constexpr char computeRole[] = "compute";

/// Adds engines to the problem of a loop.
void bindEngines(PipelineLoop &loop);

/// Returns whether other roles of a loop are warps of their own: the compute warps have statements
/// in it, too, or one warp is not enough for a role.
bool needsWarps(const PipelineLoop &loop);

/// A plan, whose numbers may differ from those of the loop: in parts of rows, a statement is one
/// for each part.
struct LoopPlan {
  sched::Plan plan;
  /// Warpgroups that compute parts of their own. Their roles are the last ones of the plan.
  int64_t parts = 1;
  /// By statement, buffer, barrier and role of the plan: the first of its parts, by the loop's
  /// number for statements and buffers; and its part, if it is one.
  struct Origin {
    unsigned number = 0;
    std::optional<int64_t> part;
  };
  std::vector<Origin> statements, buffers, barriers, roles;

  /// A plan in the loop's own numbers.
  explicit LoopPlan(sched::Plan plan);
  LoopPlan() = default;

  /// Slots of the loop's buffers.
  std::vector<int64_t> slots() const;
  bool isCompute(const sched::PlanRole &role) const;
  /// The name of a role, without its part.
  static llvm::StringRef nameOf(const sched::PlanRole &role);
};

/// The plan of a loop that \p warps compute. Other roles are warps after these, \p own, or the
/// first of them. Where its roles cannot be synchronized, one group of warps executes the loop,
/// unless the user states roles.
LoopPlan planOf(const ScheduledLoop &loop, int64_t warps, bool own, bool whole);

/// The plan of a loop in which tcgen05 multiplies rows in parts for warpgroups of their own, each
/// of which goes on when its part is ready; nothing if they share more than copies bring.
std::optional<LoopPlan> planInParts(const ScheduledLoop &loop, const sched::RoleAssignment &roles,
                                    const sched::RoleSizes &sizes);

/// For tests: leaves out a point, unless that is a statement.
void leaveOut(LoopPlan &plan, size_t number);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_LOOPPLANS_H
