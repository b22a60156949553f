//===- GridCoordinates.h - From block numbers to coordinates ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch numbers blocks. Which coordinates belong to a number is decided here, for the
// block itself and for those that it takes over.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_GRIDCOORDINATES_H
#define PENSTOCK_TRANSFORMS_GRIDCOORDINATES_H

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <optional>

namespace penstock {

/// A quotient and a remainder by what is at least 1 when a block runs.
mlir::Value safeQuotient(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value safeRemainder(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);

/// The coordinates of a block in a grid (`tile.grid`).
llvm::SmallVector<mlir::Value> coordinatesOfBlock(mlir::OpBuilder &b, mlir::Location loc,
                                                  mlir::ValueRange extents,
                                                  std::optional<int64_t> swizzle,
                                                  mlir::Value block);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_GRIDCOORDINATES_H
