//===- Cells.h - Cells of an access -----------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the offset of a box in one iteration. Both oracles use it; there is
// nothing in it to be wrong about but a multiplication.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_CELLS_H
#define PENSTOCK_FUZZ_PIPELINES_CELLS_H

#include "../penstock-fuzz/Random.h"
#include "Loop.h"

namespace penstock::fuzz {

/// What cannot be known when a loop is compiled.
struct World {
  int64_t trips = 0;
  /// conditions[c][k]; shared by the iterations beyond the table.
  std::vector<std::vector<bool>> conditions;
  /// What `Loaded` spans read, by iteration.
  std::vector<int64_t> table;
  /// The numbers that are fixed before the loop. Where they do not matter, 0.
  Origin origin = {};

  bool holds(const std::vector<Term> &terms, int64_t k) const {
    for (const Term &term : terms)
      if (conditions[size_t(term.condition)][size_t(k)] == term.negated)
        return false;
    return true;
  }
};

/// What the numbers that are fixed before the loop may be, from the least on. Where
/// one is never 0, an offset may be that many cells before it.
constexpr int64_t originChoices[origins][3] = {{0, 1, 2}, {4, 6, 8}, {0, 8, 20}};

inline Origin drawOrigin(Random &random) {
  Origin drawn;
  for (size_t i = 0; i < origins; ++i)
    drawn[i] = originChoices[i][random.below(3)];
  return drawn;
}

/// What the origin of a span comes to.
inline int64_t originOf(const Span &span, const Origin &numbers) {
  int64_t sum = 0;
  for (size_t i = 0; i < origins; ++i)
    sum += span.origin[i] * numbers[i];
  return sum;
}

/// Where an affine span begins in iteration \p k, from its origin on.
inline int64_t beginOf(const Span &span, int64_t k) { return span.scale * k + span.offset; }

/// A multiple of \p k in 8 bits, from 0 to 255.
inline int64_t wrapped(int64_t k, int64_t factor) { return int8_t(uint8_t(k * factor)) + 128; }

/// Where any span begins in iteration \p k.
inline int64_t beginIn(const Span &span, int64_t k, const World &world) {
  int64_t x = k;
  if (span.motion == Span::Motion::Modulo)
    x = k % span.modulus;
  else if (span.motion == Span::Motion::Loaded)
    x = world.table[size_t(k)] % span.modulus;
  else if (span.motion == Span::Motion::Wrapped)
    x = wrapped(k, span.modulus);
  return beginOf(span, x) + originOf(span, world.origin);
}

/// Calls \p visit with the row-major number of each cell.
template <class Visit>
void forEachCell(const LoopBuffer &buffer, const Box &box, int64_t k, const World &world,
                 Visit visit) {
  if (box.whole()) {
    int64_t cells = 1;
    for (int64_t extent : buffer.extents)
      cells *= extent;
    for (int64_t cell = 0; cell < cells; ++cell)
      visit(cell);
    return;
  }
  if (box.spans.size() == 1) {
    int64_t begin = beginIn(box.spans[0], k, world);
    for (int64_t i = 0; i < box.spans[0].length; ++i)
      visit(begin + i);
    return;
  }
  int64_t row = beginIn(box.spans[0], k, world), column = beginIn(box.spans[1], k, world);
  for (int64_t i = 0; i < box.spans[0].length; ++i)
    for (int64_t j = 0; j < box.spans[1].length; ++j)
      visit((row + i) * buffer.extents[1] + column + j);
}

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_CELLS_H
