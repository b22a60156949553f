//===- TensorMemory.h - Contents of Blackwell's tensor memory ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_TENSORMEMORY_H
#define PENSTOCK_TARGET_NVPTX_THREADS_TENSORMEMORY_H

#include "Dialect/NV/NVDialect.h"

namespace penstock::nvptx {

struct LoweringContext;

/// Tiles of tensor memory that the hardware allocates at once.
struct TensorAllocation {
  int64_t columns;
  llvm::SmallVector<nv::TensorAllocOp> tiles;
  int64_t slot = 0; ///< where alloc puts the address
};

struct TensorMemory {
  llvm::SmallVector<TensorAllocation> allocations;
  llvm::DenseMap<mlir::Value, mlir::Value> bases; ///< of nv.tcgen05.alloc, i32
};

/// Divides the tiles of tensor memory among allocations.
void divideTensorMemory(LoweringContext &c);

/// Records the columns of all tiles under the names of the user.
void nameTensorTiles(LoweringContext &c);

/// Allocates tensor memory by one warp; nothing if the kernel has none.
void allocateTensorMemory(LoweringContext &c);

/// Loads the addresses that allocations wrote to shared memory.
void loadTensorBases(LoweringContext &c);

/// The first cell of a tensor tile's view; its lanes begin at 0.
mlir::Value tensorAddress(LoweringContext &c, mlir::Value tile);

/// Columns between the parts of a tile in tensor memory.
int64_t columnsOfPart(mlir::Value tile);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_TENSORMEMORY_H
