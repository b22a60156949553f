//===- TileMemory.h - Memory use of a kernel's tiles ------------*- C++ -*-===//
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
#ifndef PENSTOCK_ANALYSIS_LOOP_TILEMEMORY_H
#define PENSTOCK_ANALYSIS_LOOP_TILEMEMORY_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock {

/// Why the tiles of a kernel do not fit although none has a second version;
/// empty if they do.
std::vector<Diagnostic> checkTileMemory(mlir::func::FuncOp kernel,
                                        const hw::Architecture &architecture);

/// Returns the number of columns of an accumulator that are staged in shared memory together for
/// engines to store: few for one in tensor memory, all for one in registers.
int64_t stagedColumns(mlir::MemRefType accumulator, mlir::Type stored, bool inTensorMemory);

/// Sets the spaces of the loop's buffers on \p architecture and their capacities. The kernel must
/// have passed checkTileMemory.
void assignCapacity(PipelineLoop &loop, const hw::Architecture &architecture);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_TILEMEMORY_H
