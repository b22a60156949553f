//===- MatrixStore.h - Layout of stmatrix -----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_MATRIXSTORE_H
#define PENSTOCK_LAYOUT_MATRIXSTORE_H

#include "Layout/Distribution.h"
#include "Layout/SharedTile.h"

namespace penstock::layout {

/// Returns the number of adjacent blocks of 8 columns of a thread, if a distribution is the one of
/// stmatrix: 4 registers hold 16 rows of a block, and the next 4 its neighbor. Otherwise 0.
int64_t blocksOfColumns(const Distribution &registers);

/// Returns the distribution of the pieces of 16 bytes that stmatrix.x4 stores, by the lanes that
/// pass their addresses, if it can store the registers to the tile. With an odd number of blocks,
/// the upper 16 lanes have no piece of the last one.
std::optional<Distribution> matrixStorePieces(const Distribution &registers,
                                              const SharedTile &tile);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_MATRIXSTORE_H
