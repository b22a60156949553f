//===- LowerMapBody.h - The expression of a map -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERMAPBODY_H
#define PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERMAPBODY_H

#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/Threads/LoweringContext.h"

namespace penstock::nvptx {

/// Computes the body of \p op for one element. \p known is the layout if \p base is the thread's
/// part of it; else null.
mlir::FailureOr<Value> mapElement(LoweringContext &c, tile::MapOp op,
                                  const layout::Distribution &layout, int64_t reg,
                                  llvm::ArrayRef<Value> base, llvm::ArrayRef<int64_t> offset,
                                  const layout::Distribution *known);

/// Returns whether the last operation of a map is a product that a sum after it may be fused with:
/// then an element alone takes no instruction for that sum.
bool sumTakesProduct(tile::MapOp op);

/// Returns whether instructions for two elements save any, and each thread holds all of its
/// registers.
bool computesPairs(LoweringContext &c, tile::MapOp op, const layout::Distribution &layout,
                   llvm::ArrayRef<Value> base);

/// Computes two registers of the target at a time.
LogicalResult lowerMapByPairs(LoweringContext &c, tile::MapOp op, RegisterTile &target,
                              const layout::Distribution &layout, llvm::ArrayRef<Value> base);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERMAPBODY_H
