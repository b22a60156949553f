//===- PackedElements.h - Two 4-bit values in a byte ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packed elements are bytes in the IR, so that copies, boxes and layouts are those of
// bytes. What a byte means is written here only, as arithmetic that every target has.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_PACKEDELEMENTS_H
#define PENSTOCK_DIALECT_TILE_PACKEDELEMENTS_H

#include "mlir/IR/Builders.h"

namespace penstock::tile {

enum class Packing : uint8_t { F4E2M1, I4 };

/// Loads a value from a tile of packed elements, as a \p type: i8, i32, f16, bf16 or f32. \p index
/// counts values along the last dimension, and may be that of an element of a tile.map.
mlir::Value loadPacked(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tile,
                       llvm::ArrayRef<mlir::Value> index, Packing packing, mlir::Type type);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_PACKEDELEMENTS_H
