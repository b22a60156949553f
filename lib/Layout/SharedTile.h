//===- SharedTile.h - Layout of tiles in shared memory ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows the bytes of a tile in shared memory. A copy by TMA
// writes them, matrix instructions read them through a descriptor, and threads
// address them one by one; all three ask here.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_SHAREDTILE_H
#define PENSTOCK_LAYOUT_SHAREDTILE_H

#include "Layout/Swizzle.h"

#include <optional>

namespace penstock::layout {

/// A tile of rows x cols elements; neighbors along a row are neighbors in
/// memory. It is cut along `cols` into chunks as wide as the swizzle's span, each
/// of all rows and one TMA box (if refuseTmaTile does not object), which follow each
/// other. A linear tile is row-major without chunks.
struct SharedTile {
  int64_t rows = 0;
  int64_t cols = 0;
  int elementBits = 0;
  Swizzle swizzle = Swizzle::None;
  bool linear = false;

  int64_t bytes() const;
  /// Returns the required alignment of the tile's address.
  int64_t alignment() const;
  int64_t chunkCols() const;
  int64_t chunks() const;
  int64_t chunkBytes() const;
  /// From the tile's start, before the swizzle.
  int64_t linearByte(int64_t row, int64_t col) const;
  /// From the start of a tile that is aligned, after the swizzle.
  int64_t byteOffset(int64_t row, int64_t col) const;

  friend bool operator==(const SharedTile &, const SharedTile &) = default;
};

/// With the widest swizzle whose span divides the rows' bytes; nothing if not
/// even 16 bytes do, or if elements are not of 1, 2, 4, ... or 64 bits.
std::optional<SharedTile> sharedTileFor(int64_t rows, int64_t cols, int elementBits);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_SHAREDTILE_H
