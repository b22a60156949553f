//===- MmaSync.h - Products by the tensor cores of each warp ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which products mma.sync computes, and how warps share the accumulator. The
// choice of layouts and the lowering must agree, so both ask here.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_OPERATIONS_MMASYNC_H
#define PENSTOCK_TARGET_NVPTX_OPERATIONS_MMASYNC_H

#include "Dialect/Tile/TileDialect.h"
#include "Layout/Distribution.h"

namespace penstock::nvptx {

/// One mma.sync: 16 x 8 results, 32 bytes of k.
struct MmaShape {
  int64_t k = 16; ///< elements of the operands' tiles; bytes of packed values
  int64_t elementBits = 16;
  std::string name;   ///< shape, layouts, kind and types, as the instruction has them
  int64_t scales = 0; ///< of each row of A and column of B; 0: no block scales
};

/// Returns the instruction for a matmul. None if no instruction supports its types or shape; then
/// threads multiply.
std::optional<MmaShape> mmaShapeOf(tile::GemmOp op);

/// Returns the distribution of an mma.sync accumulator over \p warps warps: the division that
/// loads the fewest bytes of operands, or with \p wholeRows the one with the fewest warps along a
/// row.
layout::Distribution mmaLayoutOf(tile::GemmOp op, int64_t warps, bool wholeRows);

/// Returns the distribution of a left operand in registers over \p warps warps: the one of an
/// accumulator with whole rows per warp. None if some warp has no rows, or if the instruction reads
/// operand elements in a different order than it writes accumulators.
std::optional<layout::Distribution> mmaLeftLayoutOf(tile::GemmOp op, int64_t warps);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_MMASYNC_H
