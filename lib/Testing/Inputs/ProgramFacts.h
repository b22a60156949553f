//===- ProgramFacts.h - Facts of a program that inputs depend on -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which sizes are divided into tiles, and which tensors hold indices. An integer tensor holds
// indices if its elements reach a coordinate of a tensor or tile, or the bound of a loop whose
// index does. They are followed through copies, tiles, maps, casts, sums, minima and maxima,
// and products and quotients with constants; nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_INPUTS_PROGRAMFACTS_H
#define PENSTOCK_TESTING_INPUTS_PROGRAMFACTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <vector>

namespace penstock {

/// Use of an element of a tensor as a coordinate: element * multiplier / divisor.
struct IndexUse {
  int argument = -1;  ///< the tensor that is indexed; negative: a tile
  unsigned dim = 0;   ///< of that tensor
  int64_t extent = 0; ///< of a tile's dimension
  int64_t multiplier = 1, divisor = 1;
  bool bound = false; ///< an exclusive bound of the coordinate, not the coordinate itself
  bool operator==(const IndexUse &) const = default;
};

/// Copies along a dimension of a tensor.
struct TileSize {
  int64_t extent = 1; ///< the largest; 1: not in tiles
  int64_t end = 0;    ///< of the last copy, if all have constant coordinates; 0: they have not
};

struct ProgramFacts {
  struct Indices {
    std::vector<IndexUse> uses;
    /// The program loads neighbors: elements are where ranges begin and end.
    bool ascending = false;
  };
  std::map<unsigned, Indices> indices; ///< by the argument that holds them
  /// Most stages that a pipelined loop states; 0: none does.
  int64_t stages = 0;
  /// Integer scalars that extents of the grid depend on, and whether they are divided into
  /// tiles.
  std::map<unsigned, bool> gridScalars;
  /// By argument and dimension.
  std::vector<std::vector<TileSize>> tiles;
};

ProgramFacts factsOf(mlir::func::FuncOp kernel);

} // namespace penstock

#endif // PENSTOCK_TESTING_INPUTS_PROGRAMFACTS_H
