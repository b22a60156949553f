//===- TileChecks.h - Checks that verifiers share ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operand requirements that several verifiers of tile operations share. Each check reports the
// violated rule with a code. Private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_TILECHECKS_H
#define PENSTOCK_DIALECT_TILE_TILECHECKS_H

#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"

namespace penstock::tile {

/// Reports \p diagnostic, with \p help if there is one.
llvm::LogicalResult fail(mlir::InFlightDiagnostic diagnostic, const llvm::Twine &help = {});

/// The name of an operation in the C++ API.
llvm::StringRef spelled(mlir::Operation *op);

inline mlir::MemRefType typeOf(mlir::Value memref) {
  return llvm::cast<mlir::MemRefType>(memref.getType());
}
inline mlir::Type elementOf(mlir::Value memref) { return typeOf(memref).getElementType(); }

/// Operations on whole tiles need a constant shape.
llvm::LogicalResult verifyTile(mlir::Operation *op, mlir::Value memref, llvm::StringRef role);
/// A kernel must not write to what it declares as input.
llvm::LogicalResult verifyWritable(mlir::Operation *op, mlir::Value memref);
/// Constant indices must lie inside constant extents.
llvm::LogicalResult verifyIndices(mlir::Operation *op, mlir::Value memref,
                                  mlir::ValueRange indices);
/// A scalar has the element type of the memref.
llvm::LogicalResult verifyElement(mlir::Operation *op, mlir::Value memref, mlir::Type scalar);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_TILECHECKS_H
