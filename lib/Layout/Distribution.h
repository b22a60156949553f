//===- Distribution.h - A tile over the registers of threads ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which thread holds which element of a tile, for tiles of any rank. Thread and
// register numbers are written in mixed radix; each digit runs along one
// dimension of the tile, or along none. Threads that differ only in digits of
// the second kind hold copies of the same elements. Slices, broadcasts and
// reductions are then operations on lists of digits: a reduction over threads
// is a butterfly over the digits of the reduced dimension.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_DISTRIBUTION_H
#define PENSTOCK_LAYOUT_DISTRIBUTION_H

#include "Layout/Fragment.h"

#include <optional>
#include <string>
#include <string_view>

namespace penstock::layout {

class Distribution {
public:
  /// A digit with values 0 to extent - 1 that adds value * stride to the
  /// coordinate along `dim`; `dim` is -1 for a digit that selects a copy.
  struct Digit {
    int64_t extent = 1;
    int64_t dim = -1;
    int64_t stride = 0;
    friend bool operator==(const Digit &, const Digit &) = default;
  };

  std::vector<int64_t> shape;
  /// Least significant first.
  std::vector<Digit> threadDigits, registerDigits;

  /// The product of the digits' extents.
  int64_t threads() const;
  int64_t registers() const;
  size_t rank() const { return shape.size(); }

  /// Element of register \p reg of \p thread: baseOf(thread) + offsetOf(reg).
  std::vector<int64_t> baseOf(int64_t thread) const;
  std::vector<int64_t> offsetOf(int64_t reg) const;
  /// Returns whether every register of every thread holds an element of the tile. If not,
  /// coordinates outside of the shape stand for nothing.
  bool isFull() const;
  /// The most registers that always hold neighbors along the last dimension: a
  /// power of two that divides the first one's coordinate.
  int64_t run() const;

  /// The largest remainder, divided by \p piece, of a thread's part of the coordinate
  /// along \p dim.
  int64_t largestRemainder(unsigned dim, int64_t piece) const;

  /// The distribution of a tile without dimension \p dim whose elements lie with
  /// those of this one: threads along \p dim hold copies.
  Distribution slice(unsigned dim) const;
  /// The register of slice(dim) that goes with register \p reg of this.
  int64_t sliceRegister(unsigned dim, int64_t reg) const;

  /// The elements from \p first on along \p dim, \p size of them, if they are the same registers of
  /// all threads.
  struct Part;
  std::optional<Part> part(unsigned dim, int64_t first, int64_t size) const;

  friend bool operator==(const Distribution &, const Distribution &) = default;
};

struct Distribution::Part {
  Distribution layout;
  std::vector<int64_t> registers; ///< of the whole, for each of the part's
};

/// A tile of rank 2 as an instruction distributes it. The fragment's terms must
/// form a mixed radix.
Distribution distributionOf(const Fragment &fragment);

/// For coalesced accesses by \p threads: each holds \p vector
/// neighbors along the last dimension, consecutive threads follow along it, then
/// along the dimensions before. Threads beyond the tile hold nothing.
Distribution blocked(const std::vector<int64_t> &shape, int64_t threads, int64_t vector);

/// The accumulator of mma.sync.m16n8: \p warps warps, \p warpsAlongRows of them
/// below each other. Rows beyond the tile's hold nothing.
Distribution mmaAccumulator(int64_t rows, int64_t cols, int64_t warps, int64_t warpsAlongRows);

/// Returns the layout of tcgen05.ld and st: 128 rows, one for each thread of a warpgroup, or 64
/// rows, 16 for each warp, in the layout of mma.sync, once or three times; several warpgroups share
/// the columns.
Distribution tensorMemoryAccumulator(int64_t rows, int64_t cols, int64_t warpgroups);

/// "8x64 threads [16:1*4 8:0*1] registers [4:1*1]": extent, dimension, stride.
std::string toString(const Distribution &distribution);
/// The reverse; nothing if the text is malformed or a digit names no dimension.
std::optional<Distribution> parseDistribution(std::string_view text);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_DISTRIBUTION_H
