//===- StatedRoles.h - Roles that statements of a loop state ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-assign-roles.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_ROLES_STATEDROLES_H
#define PENSTOCK_TARGET_NVPTX_ROLES_STATEDROLES_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Returns whether a statement of a loop states a role.
bool statesRoles(const PipelineLoop &loop);

/// Refuses roles that are stated elsewhere than for whole statements of pipelined loops.
mlir::LogicalResult checkStatedRoles(mlir::func::FuncOp kernel);

/// Adds the roles that statements state to \p roles, by statement, empty for the warps that
/// compute. Statements that share registers share a role: \p roles of engines stay, and threads
/// follow the one that states its role. Reports what is not possible.
mlir::LogicalResult addStatedRoles(const PipelineLoop &loop, std::vector<llvm::StringRef> &roles);

/// Lets roles run ahead of those that use their results, where the compiler chose the
/// schedule: with stages of their own, tiles between two roles have a version for each.
void separateStages(const PipelineLoop &loop, const hw::Architecture &architecture,
                    const std::vector<llvm::StringRef> &roles);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_ROLES_STATEDROLES_H
