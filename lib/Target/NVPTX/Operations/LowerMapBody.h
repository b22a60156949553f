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

#include <map>

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

/// A map whose elements are signed 4-bit integers, two in each byte of a shared tile.
class NibbleMap {
public:
  /// Returns nothing for other maps, and if threads with this layout do not have neighbors.
  static std::optional<NibbleMap> match(LoweringContext &c, tile::MapOp op,
                                        const layout::Distribution &layout);

  /// Returns the values of an even element and the next one: a word with two halves, or two f32.
  /// The even one is at \p base and \p offset. \p known: \p base is the thread's part of the
  /// layout.
  llvm::SmallVector<Value, 2> pair(llvm::ArrayRef<Value> base, llvm::ArrayRef<int64_t> offset,
                                   bool known);
  /// Returns \p count values from an even element on.
  llvm::SmallVector<Value> values(llvm::ArrayRef<Value> base, llvm::ArrayRef<int64_t> offset,
                                  bool known, int64_t count);
  /// Forgets what has been loaded: the following pairs may not be dominated by it.
  void forget() { loaded.clear(); }

private:
  NibbleMap(LoweringContext &c, Value tile, mlir::Type type, const layout::Distribution &layout)
      : c(c), tile(tile), type(type), layout(layout) {}

  Value wordAt(llvm::ArrayRef<Value> base, llvm::ArrayRef<int64_t> offset, bool known);

  LoweringContext &c;
  Value tile;
  mlir::Type type;
  layout::Distribution layout;
  /// Words that have been loaded, by the coordinates of the first element.
  std::map<std::vector<int64_t>, llvm::SmallVector<Value>> loaded;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERMAPBODY_H
