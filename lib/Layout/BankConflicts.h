//===- BankConflicts.h - Accesses of a warp to shared memory ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory has 32 banks of 4 bytes, and serves one word of each in a wavefront.
// Lanes that access different words of one bank wait for each other.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_BANKCONFLICTS_H
#define PENSTOCK_LAYOUT_BANKCONFLICTS_H

#include "Layout/Distribution.h"
#include "Layout/SharedTile.h"

#include <functional>
#include <span>

namespace penstock::layout {

struct Wavefronts {
  int64_t taken = 0;
  int64_t least = 0; ///< for the number of different words
  friend bool operator==(const Wavefronts &, const Wavefronts &) = default;
};

/// Wavefronts of one instruction of a warp whose lanes access \p bytes bytes each, at these
/// addresses; negative ones access nothing. 8 and 16 bytes are served for a half and a quarter
/// of the warp at a time.
Wavefronts wavefrontsOf(std::span<const int64_t> addresses, int64_t bytes);

/// All accesses of a block to a tile whose elements threads hold like this.
struct TileAccesses {
  int64_t bytes = 0; ///< of each lane
  Wavefronts wavefronts;
};

/// \p byteOf says where an element lies, by its row and column.
TileAccesses accessesOf(const Distribution &, int64_t elementBytes,
                        const std::function<int64_t(int64_t row, int64_t col)> &byteOf);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_BANKCONFLICTS_H
