//===- NVDialect.h - The nv dialect in C++ ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_NV_NVDIALECT_H
#define PENSTOCK_DIALECT_NV_NVDIALECT_H

#include "Dialect/NV/Execution.h"
#include "Dialect/Tile/TileDialect.h"
#include "Layout/Distribution.h"
#include "Scheduling/Problem/Problem.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "Dialect/NV/NVDialect.h.inc"
#include "Dialect/NV/NVEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/NV/NVAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "Dialect/NV/NVInterfaces.h.inc"
#include "Dialect/NV/NVTypes.h.inc"
#define GET_OP_CLASSES
#include "Dialect/NV/NVOps.h.inc"

namespace penstock::hw {
struct Architecture;
} // namespace penstock::hw

namespace penstock::nv {

/// Threads of a warp, and warps of a warpgroup.
constexpr int64_t warpSize = 32, warpgroupWarps = 4;
/// Largest portable cluster size. Larger clusters depend on the chip.
constexpr int64_t maxClusterBlocks = 8;
/// The scope that an operation is executed by: the warps of the innermost
/// nv.warps around it, or the kernel's.
struct ThreadScope {
  int64_t firstWarp = 0, warps = 0;
  bool wholeBlock = true; ///< no nv.warps around it
  bool oneThread = false; ///< inside of nv.elect
};
ThreadScope scopeOf(mlir::Operation *op);

/// Roles that the compiler assigns. Statements without a role are the compute warps'.
constexpr llvm::StringLiteral loadRole = "load", mmaRole = "mma", requestRole = "request";
void setRole(mlir::Operation *op, llvm::StringRef role);

/// Returns the distribution of a local tile over registers; null if it has none.
const layout::Distribution *layoutOf(mlir::Value tile);
void setLayout(tile::AllocOp tile, layout::Distribution layout);

/// The first operation of a kernel that says what a GPU's threads do; the kernel itself if it
/// only states their number, and null in tile programs. A kernel that states the number of
/// threads and leaves the rest, pipelined loops included, to the compiler is a tile program.
mlir::Operation *firstExplicit(mlir::FunctionOpInterface kernel);
/// Returns whether this operation is in a kernel of CTA pairs.
bool isPaired(mlir::Operation *op);
/// The blocks of the cluster that a kernel, or the one around an operation, runs in.
int64_t clusterSize(mlir::Operation *op);
/// The architecture without which an operation does not exist: "sm_90a", "sm_100a", or
/// "" if all architectures have it.
llvm::StringRef requiredArchitecture(mlir::Operation *op);
/// Reports the first operation of \p kernel that does not exist on \p architecture.
mlir::LogicalResult checkArchitecture(mlir::Operation *kernel,
                                      const hw::Architecture &architecture);

} // namespace penstock::nv

#endif // PENSTOCK_DIALECT_NV_NVDIALECT_H
