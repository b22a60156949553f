//===- LayoutOf.cpp - Hardware layouts in the algebra ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/LayoutOf.h"

#include <algorithm>

namespace penstock::layout {
namespace {

using Term = Fragment::Term;

/// Terms take digits of an index that may overlap; the modes of a layout are digits
/// that follow each other. So the index is cut wherever a digit of a term begins or
/// ends, which works if each cut divides the next.
std::optional<Layout> modesOf(int64_t extent, const std::vector<Term> &rowTerms,
                              const std::vector<Term> &colTerms, int64_t rows) {
  std::vector<int64_t> cuts = {1, extent};
  for (const std::vector<Term> *terms : {&rowTerms, &colTerms})
    for (const Term &t : *terms)
      for (int64_t cut : {t.div, t.div * t.mod})
        if (cut < extent)
          cuts.push_back(cut);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  auto strideOf = [](const std::vector<Term> &terms, int64_t cut) {
    int64_t stride = 0;
    for (const Term &t : terms)
      if (cut < t.div * t.mod) // 0 below the term's digit
        stride += cut / t.div * t.stride;
    return stride;
  };
  std::vector<Layout::Mode> modes;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (cuts[i + 1] % cuts[i] != 0)
      return std::nullopt;
    modes.push_back(
        {cuts[i + 1] / cuts[i], strideOf(rowTerms, cuts[i]) + rows * strideOf(colTerms, cuts[i])});
  }
  return coalesce(Layout::ofModes(modes));
}

} // namespace

std::optional<Layout> layoutOf(const Fragment &f) {
  if (!f.isFull())
    return std::nullopt;
  std::optional<Layout> threads = modesOf(f.threads, f.rowTerms, f.colTerms, f.rows);
  std::optional<Layout> registers =
      modesOf(f.registers, f.rowRegisterTerms, f.colRegisterTerms, f.rows);
  if (!threads || !registers)
    return std::nullopt;
  return Layout({*threads, *registers});
}

SwizzledLayout layoutOf(const SharedTile &tile) {
  int64_t width = tile.chunkCols();
  Layout cols(width, 1);
  if (tile.chunks() > 1)
    cols = Layout({cols, Layout(tile.chunks(), tile.rows * width)});
  int bits = tile.linear ? 0 : int(tile.swizzle);
  return {{bits, 4, 3}, tile.elementBits, Layout({Layout(tile.rows, width), cols})};
}

Layout layoutOf(const TensorAccumulator &d) {
  constexpr int64_t lane = 1 << 16;
  if (d.rowsPerCta() == 128)
    return Layout({Layout(128, lane), Layout(d.n, 1)});
  if (d.ctas == 1)
    return Layout({Layout({Layout(16, lane), Layout(4, 32 * lane)}), Layout(d.n, 1)});
  Layout halves({Layout(d.columns(), 1), Layout(2, 64 * lane)});
  return Layout({Layout(64, lane), halves});
}

} // namespace penstock::layout
