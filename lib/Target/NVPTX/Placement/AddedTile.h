//===- AddedTile.h - Parallel bodies that add a tile to a tensor *- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile program adds a tile to a tensor element by element, by atomics in a `parallel`
// body, under a condition that leaves out elements outside of the tensor. TMA adds the
// whole tile and clips it by itself: recognizing such bodies is what this file is for.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLACEMENT_ADDEDTILE_H
#define PENSTOCK_TARGET_NVPTX_PLACEMENT_ADDEDTILE_H

#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace penstock::nvptx {

/// On a `parallel` body whose threads add to a tensor: why TMA does not, a text.
inline constexpr llvm::StringLiteral addedByThreadsAttr = "penstock.added_by_threads";

/// A tile that a `parallel` body adds to a box of a tensor, clipped at the tensor's edges.
struct AddedTile {
  tile::ParallelOp body;
  mlir::Value tile, tensor;
  /// First coordinate of the box along each dimension of the tensor: a sum of values that are the
  /// same for all elements, some of them computed in the body.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> terms;
  llvm::SmallVector<int64_t> dims; ///< of the tensor, along those of the tile

  /// Creates the offsets of the box before the body.
  llvm::SmallVector<mlir::Value> offsets() const;
};

/// Matches a body. If it is not such an addition, \p reason is set; it stays empty if nothing
/// is added to a tensor at all.
std::optional<AddedTile> matchAddedTile(mlir::func::FuncOp kernel, tile::ParallelOp body,
                                        std::string &reason);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLACEMENT_ADDEDTILE_H
