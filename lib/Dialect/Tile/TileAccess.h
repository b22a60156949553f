//===- TileAccess.h - Regions of tiles that operations touch ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_TILEACCESS_H
#define PENSTOCK_DIALECT_TILE_TILEACCESS_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace penstock::tile {

/// One access of an operation to one tile or tensor.
struct TileAccess {
  /// The memref as the operation names it: a view, not the allocation.
  mlir::Value memref;
  bool reads = false;
  bool writes = false;
  /// The box that is touched, in the view's own indices; both are empty if it
  /// is the whole view. A box of a tensor is clipped at the tensor's edges.
  llvm::SmallVector<mlir::OpFoldResult> offsets = {};
  llvm::SmallVector<mlir::OpFoldResult> sizes = {};
  /// An atomic update. Two of them never race, but their order may matter.
  bool atomic = false;

  bool isWhole() const { return offsets.empty(); }
};

/// The allocation or argument behind slices and transposes.
mlir::Value rootOf(mlir::Value memref);

/// The user's name of a tile, tensor or scalar: "As", or "" if there is none.
std::string nameOf(mlir::Value value);

/// For messages: "`As` (128x64 f16, shared)".
std::string describe(mlir::Value memref);

/// For messages: "f16", "f8 e4m3", "index".
std::string describe(mlir::Type elementType);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_TILEACCESS_H
