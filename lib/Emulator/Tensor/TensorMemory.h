//===- TensorMemory.h - Access to tensor memory -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TENSOR_TENSORMEMORY_H
#define PENSTOCK_EMULATOR_TENSOR_TENSORMEMORY_H

#include "Emulator/Races/HappensBefore.h"

namespace penstock::emu {

inline constexpr unsigned tensorLanes = 128, tensorColumns = 512;

/// The tensor memory of a block, made on first use.
TensorMemory &tensorMemory(Grid &grid, Cta &cta);

/// Calls \p fn for the cells of \p columns of tensor memory, a CellSet at a time: a cell is 16
/// lanes of one column. \p groups: mask of groups of 16 lanes.
template <class Fn>
void forTensorCells(uint32_t groups, unsigned column, unsigned columns, Fn &&fn) {
  static_assert(tensorColumns % Shadow::segmentCells == 0, "a segment is of one group of lanes");
  forLanes(groups, [&](unsigned group) {
    uint64_t at = uint64_t(group) * tensorColumns + column, end = at + columns;
    while (at < end) {
      uint64_t stop = std::min(end, (at / Shadow::segmentCells + 1) * Shadow::segmentCells);
      fn(cellSet(at * Shadow::cellBytes, stop * Shadow::cellBytes));
      at = stop;
    }
  });
}

/// Returns whether [column, column + count) is allocated; reports if not.
bool columnsAllocated(Exec &ex, Cta &cta, unsigned column, unsigned count);

/// The pipe of a thread's tcgen05 operations and commits.
Cta::Pipe &tensorPipe(Exec &ex, unsigned lane);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TENSOR_TENSORMEMORY_H
