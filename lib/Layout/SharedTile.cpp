//===- SharedTile.cpp - Layout of tiles in shared memory ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/SharedTile.h"

namespace penstock::layout {

int64_t SharedTile::bytes() const { return rows * cols * elementBits / 8; }

int64_t SharedTile::alignment() const { return linear ? 16 : repeatBytes(swizzle); }

int64_t SharedTile::chunkCols() const {
  return linear ? cols : spanBytes(swizzle) * 8 / elementBits;
}

int64_t SharedTile::chunks() const { return cols / chunkCols(); }

int64_t SharedTile::chunkBytes() const { return rows * chunkCols() * elementBits / 8; }

int64_t SharedTile::linearByte(int64_t row, int64_t col) const {
  int64_t width = chunkCols();
  int64_t inChunk = row * width + col % width;
  return col / width * chunkBytes() + inChunk * elementBits / 8;
}

int64_t SharedTile::byteOffset(int64_t row, int64_t col) const {
  int64_t byte = linearByte(row, col);
  return linear ? byte : int64_t(swizzled(swizzle, uint64_t(byte)));
}

std::optional<SharedTile> sharedTileFor(int64_t rows, int64_t cols, int elementBits) {
  // Other sizes would not fill a piece of 16 bytes.
  bool sized = elementBits > 0 && elementBits <= 64 && (elementBits & (elementBits - 1)) == 0;
  if (rows <= 0 || cols <= 0 || !sized)
    return std::nullopt;
  for (Swizzle swizzle : {Swizzle::B128, Swizzle::B64, Swizzle::B32, Swizzle::None})
    if (cols * elementBits % (8 * spanBytes(swizzle)) == 0)
      return SharedTile{rows, cols, elementBits, swizzle, false};
  return std::nullopt;
}

} // namespace penstock::layout
