//===- Grid.h - The order in which blocks are numbered ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_GRID_H
#define PENSTOCK_INTERPRETER_GRID_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace penstock::interpreter {

/// Returns the number of blocks of a grid; none if an extent is negative or there are too many.
std::optional<int64_t> countBlocks(llvm::ArrayRef<int64_t> extents);

/// The coordinates of block \p number, as `tile.grid` describes them. \p
/// swizzle is 0 for a plain grid.
llvm::SmallVector<int64_t, 3> coordinatesOf(int64_t number, llvm::ArrayRef<int64_t> extents,
                                            int64_t swizzle);

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_GRID_H
