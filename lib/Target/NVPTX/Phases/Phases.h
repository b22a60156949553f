//===- Phases.h - Invariants of phases --------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PHASES_PHASES_H
#define PENSTOCK_TARGET_NVPTX_PHASES_PHASES_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Dialect/NV/NVDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Checks that \p kernel has the operations and attributes of \p phase, and no others. Reports
/// the first violation with the name of \p pass, after which it was found.
mlir::LogicalResult verifyPhase(mlir::func::FuncOp kernel, nv::Phase phase, llvm::StringRef pass);

/// Checks that each statement of a pipelined loop has a position in its schedule.
mlir::LogicalResult verifySchedules(mlir::func::FuncOp kernel, PipelineLoops &loops,
                                    llvm::StringRef pass);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PHASES_PHASES_H
