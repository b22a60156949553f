//===- ConfineThreads.h - Code of the compute warps only --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to passes that warp-specialize loops.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_CONFINETHREADS_H
#define PENSTOCK_TARGET_NVPTX_PLANS_CONFINETHREADS_H

#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Which values every warp of a kernel can compute for itself: from arguments, numbers of
/// blocks, indices of loops and elements of tensors that the kernel does not write.
class Replication {
public:
  explicit Replication(mlir::func::FuncOp kernel);
  bool isReplicable(mlir::Value value) const;
  /// Returns whether an operation without regions only computes such values from its operands.
  bool isReplicable(mlir::Operation *op) const;

private:
  llvm::DenseSet<mlir::Value> written; ///< tensors
  bool overlap = false;                ///< a tensor that may overlap others is written
};

/// Puts all that is not in `nv.warps` into `nv.warps 0, warps`, but for scalars that every
/// warp computes, control flow around roles, and barriers of the block.
void confineThreads(mlir::func::FuncOp kernel, int64_t warps);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_CONFINETHREADS_H
