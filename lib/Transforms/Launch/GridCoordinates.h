//===- GridCoordinates.h - From block numbers to coordinates ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps block numbers of a launch to grid coordinates, for the block itself and for blocks
// that it claims.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LAUNCH_GRIDCOORDINATES_H
#define PENSTOCK_TRANSFORMS_LAUNCH_GRIDCOORDINATES_H

#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace penstock {

/// A quotient and a remainder by a divisor that is at least 1 when a block runs, without a guard.
mlir::Value safeQuotient(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value safeRemainder(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);

/// Returns whether a kernel is compiled for a GPU.
bool isForGpu(mlir::func::FuncOp kernel);

/// Computes the extents of a grid in clusters, from the kernel's arguments.
llvm::SmallVector<mlir::Value> extentsInClusters(mlir::OpBuilder &b, tile::GridOp grid);

/// The coordinates of a block in a grid. \p extents: of the grid, in clusters; the last one is not
/// needed without a swizzle, and with one, they are launch constants on GPUs. Blocks of a cluster
/// have consecutive numbers, the first extent fastest; clusters are numbered as blocks are without
/// them.
llvm::SmallVector<mlir::Value> coordinatesOfBlock(mlir::OpBuilder &b, tile::GridOp grid,
                                                  mlir::ValueRange extents, mlir::Value block);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_LAUNCH_GRIDCOORDINATES_H
