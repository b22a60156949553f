//===- TensorMemory.h - Layouts of tensor memory ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor memory has 128 lanes of 512 columns of 32 bits. tcgen05.mma puts
// accumulators there in one of three ways, depending on their rows and the number
// of CTAs; tcgen05.ld and st move pieces of it between lanes and threads.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_TENSORMEMORY_H
#define PENSTOCK_LAYOUT_TENSORMEMORY_H

#include "Layout/Fragment.h"

namespace penstock::layout {

struct TensorCell {
  int64_t lane = 0;
  int64_t column = 0;
  /// Returns the instruction operand, for an accumulator at address 0.
  int64_t address() const { return lane << 16 | column; }
  friend bool operator==(const TensorCell &, const TensorCell &) = default;
};

/// The accumulator of a tcgen05.mma of m x n by 1 or 2 CTAs; m and n are totals,
/// as in the instruction's descriptor. Each element takes a whole cell.
struct TensorAccumulator {
  int ctas = 1;
  int64_t m = 0;
  int64_t n = 0;

  /// Of the accumulator, in each CTA; each has all n columns of them.
  int64_t rowsPerCta() const { return m / ctas; }
  /// Columns of tensor memory that it takes.
  int64_t columns() const;
  /// Returns the cell of element (row, col) of a CTA; \p row is counted within the CTA.
  TensorCell cellOf(int64_t row, int64_t col) const;
};

/// Lanes x bits of the pieces that tcgen05.ld and st move.
enum class TensorShape : uint8_t { S32x32b, S16x64b, S16x128b, S16x256b, S16x32bx2 };

/// As PTX spells it.
const char *nameOf(TensorShape);

/// Returns the elements in the registers of a warp's 32 threads: rows are lanes and cols are
/// columns, relative to the instruction's address. \p repeat is N of `.xN`. For 16x32bx2, the upper
/// half of the warp starts \p halfSplit columns later; 0 means directly after the lower half.
Fragment tensorMemoryPiece(TensorShape, int64_t repeat, int64_t halfSplit = 0);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_TENSORMEMORY_H
