//===- TileMemory.h - What a kernel's tiles take of a target ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether tiles fit is decided before any code exists: one version of each for
// the kernel as a whole, and as many as a schedule needs for each pipelined
// loop, beside the tiles that the loop does not touch.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_TILEMEMORY_H
#define PENSTOCK_ANALYSIS_TILEMEMORY_H

#include "Analysis/PipelineLoop.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock {

/// Why the tiles of a kernel do not fit although none has a second version;
/// empty if they do.
std::vector<Diagnostic> checkTileMemory(mlir::func::FuncOp kernel,
                                        const hw::Architecture &architecture);

/// How many columns of an accumulator are staged in shared memory at once for engines to
/// store: few of one in tensor memory, all of one in registers.
int64_t stagedColumns(mlir::MemRefType accumulator, mlir::Type stored, bool inTensorMemory);

/// Says in the loop's problem where its buffers live on \p architecture and how
/// much room there is for them. The kernel must have passed checkTileMemory.
void assignCapacity(PipelineLoop &loop, const hw::Architecture &architecture);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_TILEMEMORY_H
