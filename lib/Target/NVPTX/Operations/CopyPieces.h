//===- CopyPieces.h - Pieces of a copy by threads ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinates of a piece, in the tile and in the tensor, are a per-thread value plus a
// constant. Pieces with the same per-thread value differ by constants, even if the rows of the tile
// are a box along several dimensions of the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_OPERATIONS_COPYPIECES_H
#define PENSTOCK_TARGET_NVPTX_OPERATIONS_COPYPIECES_H

#include "Layout/Distribution.h"
#include "Target/NVPTX/Threads/Tensors.h"

namespace penstock::nvptx {

/// Constant parts of the coordinates of a piece.
struct CopyPiece {
  llvm::SmallVector<int64_t> inTile, inTensor;
};

/// Pieces with the same per-thread parts of their coordinates.
struct CopyPieces {
  llvm::SmallVector<mlir::Value> inTensor; ///< for each dimension; null: 0
  llvm::SmallVector<CopyPiece> pieces;

  /// Returns whether the pieces have the same coordinate along a dimension of the tensor.
  bool isSame(unsigned dim) const;
};

/// A box of a tensor with \p rank dimensions that is copied to a tile of one or two dimensions.
/// `dims` and `rows` are attributes of the copy, with the same meaning as in `nv.tma.load`.
struct CopyBox {
  unsigned rank;
  Extents dims, rows;
};

/// Returns the pieces that a thread copies, of \p vector elements each. \p base: the thread's
/// coordinates in the tile.
llvm::SmallVector<CopyPieces> copyPieces(LoweringContext &c, const layout::Distribution &layout,
                                         llvm::ArrayRef<mlir::Value> base, int64_t vector,
                                         const CopyBox &box);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_COPYPIECES_H
