//===- OperandChecks.h - Checks that verifiers share ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operand requirements that several verifiers of nv operations share. Each check reports the
// violated rule with a code. Private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_NV_OPERANDCHECKS_H
#define PENSTOCK_DIALECT_NV_OPERANDCHECKS_H

#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"

namespace penstock::nv {

/// Reports \p diagnostic, with \p help if there is one.
llvm::LogicalResult fail(mlir::InFlightDiagnostic diagnostic, const llvm::Twine &help = {});

inline mlir::MemRefType typeOf(mlir::Value memref) {
  return llvm::cast<mlir::MemRefType>(memref.getType());
}

llvm::LogicalResult verifySpace(mlir::Operation *op, mlir::Value memref, tile::Space space,
                                llvm::StringRef role);
llvm::LogicalResult verifyRank2(mlir::Operation *op, mlir::Value memref, llvm::StringRef role);

/// Which part of a slot an engine takes.
enum class Part {
  Whole,
  Rows,           ///< rows in whole swizzle patterns; the user guarantees their alignment
  KnownRectangle, ///< rows with provable alignment, and columns from a constant offset
};

/// Engines take a tile in the layout of its whole slot.
llvm::LogicalResult verifyPartOfSlot(mlir::Operation *op, mlir::Value memref, llvm::StringRef role,
                                     Part part = Part::Whole);

/// A constant index of a barrier is less than their number.
llvm::LogicalResult verifyIndex(mlir::Operation *op, mlir::Value barriers, mlir::Value index);
/// A wait leaves 0 to \p most groups in flight.
llvm::LogicalResult verifyGroups(mlir::Operation *op, int64_t pending, int64_t most);

/// The kernel has clusters; \p what needs them.
llvm::LogicalResult verifyInCluster(mlir::Operation *op, const llvm::Twine &what);
/// Blocks of the cluster as bits of a mask.
llvm::LogicalResult verifyMulticast(mlir::Operation *op, mlir::Value mask);

} // namespace penstock::nv

#endif // PENSTOCK_DIALECT_NV_OPERANDCHECKS_H
