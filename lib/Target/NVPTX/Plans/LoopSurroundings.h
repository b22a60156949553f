//===- LoopSurroundings.h - Uses of a loop's memory around it ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to nv-write-plans. A plan orders the statements of one run of its loop; what
// lies before and after it, and the run before, must be ordered with them, too.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_LOOPSURROUNDINGS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_LOOPSURROUNDINGS_H

#include "Analysis/Loop/PipelineLoop.h"
#include "Dialect/Tile/TileDialect.h"
#include "Scheduling/Plan/Plan.h"

namespace penstock::nvptx {

/// Returns what names the memory of a tensor or tile: tensors that may overlap are one piece.
void *memoryOf(mlir::Value memref);

/// Tensors that operations access, by their memory.
struct TensorAccesses {
  llvm::SmallPtrSet<void *, 4> read, written;
  bool prints = false; ///< or lines that are printed

  /// Adds what an operation accesses, without its regions.
  void add(mlir::Operation *op);
  /// Returns whether the order of an access and of these counts. Null: printed output.
  bool conflict(mlir::Value tensor, bool writes) const;
};

class LoopSurroundings {
public:
  LoopSurroundings(const PipelineLoop &body, const sched::Plan &plan);

  bool again;        ///< the loop may be entered again
  bool sharedBefore; ///< its shared memory may have been accessed when it is entered
  bool before;       ///< or its tensor memory; or it is entered again
  bool after;        ///< its memory may be accessed when it has ended

  /// Returns whether threads may have used any shared memory before the loop: all that is not known
  /// to stay in registers, since copies from one layout to another go through it.
  bool mayUseSharedBefore() const;
  TensorAccesses tensorsBefore, tensorsAfter; ///< in the block of the loop
  bool isAccessedBefore(mlir::Value memref) const;
  bool isAccessedAfter(mlir::Value memref) const;

private:
  using Where = llvm::function_ref<bool(mlir::Operation *)>;

  /// Returns whether an operation outside of the loop, \p where that counts, accesses a tile.
  bool isAccessed(mlir::Value memref, Where where) const;
  /// Or its memory of a space. Tensors that the kernel writes are accessed by threads only.
  bool isAccessed(tile::Space space, Where where) const;

  const PipelineLoop &body;
  mlir::scf::ForOp loop;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_LOOPSURROUNDINGS_H
