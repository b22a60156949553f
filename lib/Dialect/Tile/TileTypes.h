//===- TileTypes.h - Memref types of tiles ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_TILETYPES_H
#define PENSTOCK_DIALECT_TILE_TILETYPES_H

#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileDialect.h"

namespace penstock::tile {

/// Bounds that keep shapes, and what is computed from them, far from overflow.
constexpr int64_t maxTileRank = 6;
constexpr int64_t maxTileElements = int64_t(1) << 26;

/// The space of a tile; memrefs without one count as local.
inline Space spaceOf(mlir::MemRefType type) {
  if (auto space = mlir::dyn_cast_or_null<SpaceAttr>(type.getMemorySpace()))
    return space.getValue();
  return Space::Local;
}
inline bool isGlobal(mlir::Value memref) {
  return spaceOf(mlir::cast<mlir::MemRefType>(memref.getType())) == Space::Global;
}

/// The type of a tensor argument: run-time sizes, contiguous last dimension.
mlir::MemRefType tensorType(mlir::Type element, int64_t rank);
/// The type of an allocated tile.
mlir::MemRefType tileType(llvm::ArrayRef<int64_t> shape, mlir::Type element, Space space);

/// Returns whether elements of this type can be stored in tiles.
bool isElementType(mlir::Type type);

/// Returns whether elements convert implicitly, by rounding, in copies: float to float, or integers
/// of one width.
bool convertsImplicitly(mlir::Type from, mlir::Type to);
/// Returns whether a reduction may convert its elements: as a copy does, and integers to wider
/// ones, with their sign.
bool reducesImplicitly(mlir::Type from, mlir::Type to);

/// The extents of tiles and tensors may be used wherever a value must follow
/// from the kernel's arguments alone. Returns the operation that spoils it, or
/// null; \p value itself if it is a block argument of a nested region.
struct LaunchConstancy {
  bool ok = true;
  mlir::Value culprit;
};
LaunchConstancy isLaunchConstant(mlir::Value value);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_TILETYPES_H
