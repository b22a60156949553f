//===- SharedTiles.h - Tiles in a block's shared memory ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Size and lifetime of shared tiles, for the passes that allocate them and that use
// the rest.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLACEMENT_SHAREDTILES_H
#define PENSTOCK_TARGET_NVPTX_PLACEMENT_SHAREDTILES_H

#include "Dialect/Tile/TileDialect.h"
#include "Layout/SharedTile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Offset and layout of a tile in the block's shared memory.
struct SharedAllocation {
  int64_t offset = 0;
  int64_t slots = 1;
  int64_t slotBytes = 0; ///< of the last two dimensions
  layout::SharedTile layout;
  int64_t bytes() const { return slots * slotBytes; }
  int64_t end() const { return offset + bytes(); }
};

/// The allocation of a shared tile, at `nv.offset`, or at 0 before `nv-plan-memory`.
SharedAllocation allocationOf(tile::AllocOp tile);

/// The shared tiles of a kernel in program order.
llvm::SmallVector<tile::AllocOp> sharedTiles(mlir::func::FuncOp kernel);

/// Returns whether a tile is deallocated on every path to an operation.
bool isFreedBefore(tile::AllocOp tile, mlir::Operation *op);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLACEMENT_SHAREDTILES_H
