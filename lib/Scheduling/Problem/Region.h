//===- Region.h - Regions and their conflicts -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheduling library reasons about distances: statement j of iteration
// k + d touches what statement i of iteration k touches. A compiler computes
// these sets with whatever analysis it has and hands them over finished. For
// instances written as text, boxes whose corner moves linearly with the loop
// index are enough, and for those the sets are computed here, exactly.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_REGION_H
#define PENSTOCK_SCHEDULING_PROBLEM_REGION_H

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::sched {

/// Stages and wait distances above this are refused by checkProblem(). It bounds the
/// distances at which a pair of instances can be out of order, so sets of
/// distances need to be exact only up to maxDistance.
constexpr int64_t maxStage = 1000;
constexpr int64_t maxDistance = 2 * maxStage + 2;

/// The cells [scale*k + offset, scale*k + offset + length) of one dimension.
struct AffineInterval {
  int64_t scale = 0;
  int64_t offset = 0;
  int64_t length = 1;
  /// Any cell of the dimension, in any iteration; the numbers mean nothing.
  bool unbounded = false;
  friend bool operator==(const AffineInterval &, const AffineInterval &) = default;
};

/// A box that moves with the loop index k, a whole buffer, or something that
/// is not known to be a box.
struct Region {
  enum class Kind { Whole, Box, Unknown };
  Kind kind = Kind::Whole;
  std::vector<AffineInterval> box;

  friend bool operator==(const Region &, const Region &) = default;
};

/// A set of distances d >= 0 as a union of arithmetic progressions.
class DistanceSet {
public:
  struct Range {
    int64_t lo = 0;
    std::optional<int64_t> hi; ///< no value: without end
    int64_t step = 1;
    friend bool operator==(const Range &, const Range &) = default;
  };

  DistanceSet() = default;
  explicit DistanceSet(std::vector<Range> ranges) : parts(std::move(ranges)) {}

  static DistanceSet all() { return DistanceSet({Range{0, std::nullopt, 1}}); }
  static DistanceSet only(int64_t d) { return DistanceSet({Range{d, d, 1}}); }

  bool empty() const { return parts.empty(); }
  bool contains(int64_t d) const;
  const std::vector<Range> &ranges() const { return parts; }
  friend bool operator==(const DistanceSet &, const DistanceSet &) = default;

private:
  std::vector<Range> parts;
};

/// Do \p first of iteration k and \p second of iteration k + d share a cell for
/// some k >= 0 with k + d >= 0?
bool overlapAt(const Region &first, const Region &second, int64_t d);

/// All d >= 0 for which overlapAt holds; exact up to maxDistance, and said to
/// overlap beyond it where that is not decided.
DistanceSet overlapDistances(const Region &first, const Region &second);

/// Is every cell of \p read covered by the union of \p writes, in every
/// iteration? Exact for boxes: a box that moves at another speed leaves any
/// bounded box sooner or later, so only writes of the same speed can help.
bool covered(const Region &read, const std::vector<Region> &writes);

/// Returns the part of a read that the writes do not cover, as disjoint boxes.
std::vector<Region> uncovered(const Region &read, const std::vector<Region> &writes);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_REGION_H
