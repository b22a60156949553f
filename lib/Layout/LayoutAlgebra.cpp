//===- LayoutAlgebra.cpp - Composing and inverting layouts ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Layout.h"

#include <algorithm>

namespace penstock::layout {
namespace {

using Mode = Layout::Mode;

std::optional<Layout> ifBounded(Layout layout) {
  if (!layout.isBounded())
    return std::nullopt;
  return layout;
}

std::vector<Mode> coalescedModes(const Layout &layout) {
  std::vector<Mode> out;
  for (const Mode &m : layout.flat()) {
    if (m.extent == 1)
      continue;
    if (!out.empty() && m.stride == out.back().extent * out.back().stride)
      out.back().extent *= m.extent;
    else
      out.push_back(m);
  }
  return out;
}

/// Composes with one layout on the left, mode by mode of the right one.
class Composer {
public:
  explicit Composer(const Layout &a) : digits(coalescedModes(a)), used(digits.size()) {}

  std::optional<Layout> compose(const Layout &b) {
    if (b.isLeaf())
      return leaf(b.flat()[0]);
    std::vector<Layout> modes;
    for (size_t i = 0; i < b.rank(); ++i) {
      std::optional<Layout> mode = compose(b.at(i));
      if (!mode)
        return std::nullopt;
      modes.push_back(std::move(*mode));
    }
    return Layout(std::move(modes));
  }

private:
  /// An index of a is a number whose digits are the coordinates in its modes. A mode
  /// of b that walks through several digits becomes one mode for each of them.
  std::optional<Layout> leaf(Mode b) {
    if (b.extent == 1 || b.stride == 0)
      return Layout(b.extent, 0);
    std::vector<Mode> pieces;
    for (size_t i = 0; i < digits.size(); ++i) {
      const Mode &digit = digits[i];
      if ((b.extent - 1) * b.stride < digit.extent) {
        if (!use(i, (b.extent - 1) * b.stride))
          return std::nullopt;
        pieces.push_back({b.extent, b.stride * digit.stride});
        return Layout::ofModes(pieces);
      }
      if (b.stride % digit.extent == 0) {
        b.stride /= digit.extent;
        continue;
      }
      if (digit.extent % b.stride != 0)
        return std::nullopt;
      int64_t here = digit.extent / b.stride;
      if (b.extent % here != 0 || !use(i, (here - 1) * b.stride))
        return std::nullopt;
      pieces.push_back({here, b.stride * digit.stride});
      b = {b.extent / here, 1};
    }
    return std::nullopt;
  }

  /// The modes of b add up in a digit, which must not carry into the next one: a is
  /// not additive across digits. Nor out of the last one, where a's indices end.
  bool use(size_t digit, int64_t most) {
    used[digit] += most;
    return used[digit] < digits[digit].extent;
  }

  std::vector<Mode> digits;
  std::vector<int64_t> used;
};

} // namespace

Layout coalesce(const Layout &layout) { return Layout::ofModes(coalescedModes(layout)); }

bool equivalent(const Layout &a, const Layout &b) { return coalescedModes(a) == coalescedModes(b); }

std::optional<Layout> composition(const Layout &a, const Layout &b) {
  if (!a.isBounded() || !b.isBounded())
    return std::nullopt;
  std::optional<Layout> result = Composer(a).compose(b);
  return result ? ifBounded(std::move(*result)) : std::nullopt;
}

std::optional<Layout> complement(const Layout &a, int64_t target) {
  if (!a.isBounded() || target < 1 || target > Layout::limit)
    return std::nullopt;
  std::vector<Mode> modes;
  for (const Mode &m : a.flat())
    if (m.extent > 1 && m.stride > 0)
      modes.push_back(m);
  std::sort(modes.begin(), modes.end(),
            [](const Mode &x, const Mode &y) { return x.stride < y.stride; });
  // From the smallest stride on: what lies between the end of one mode and the
  // stride of the next is left out by a.
  std::vector<Mode> gaps;
  int64_t reached = 1;
  for (const Mode &m : modes) {
    if (m.stride % reached != 0)
      return std::nullopt;
    gaps.push_back({m.stride / reached, reached});
    reached = m.extent * m.stride;
  }
  gaps.push_back({(target + reached - 1) / reached, reached});
  return ifBounded(coalesce(Layout::ofModes(gaps)));
}

std::optional<Layout> logicalDivide(const Layout &a, const Layout &b) {
  if (!a.isBounded())
    return std::nullopt;
  std::optional<Layout> rest = complement(b, a.size());
  return rest ? composition(a, Layout({b, *rest})) : std::nullopt;
}

std::optional<Layout> logicalProduct(const Layout &a, const Layout &b) {
  if (!a.isBounded() || !b.isBounded() || a.size() > Layout::limit / b.cosize())
    return std::nullopt;
  std::optional<Layout> rest = complement(a, a.size() * b.cosize());
  std::optional<Layout> copies = rest ? composition(*rest, b) : std::nullopt;
  return copies ? ifBounded(Layout({a, *copies})) : std::nullopt;
}

Layout rightInverse(const Layout &a) {
  struct Digit {
    Mode mode;
    int64_t weight; ///< of this coordinate in an index
  };
  std::vector<Digit> digits;
  int64_t weight = 1;
  for (const Mode &m : coalescedModes(a)) {
    digits.push_back({m, weight});
    weight *= m.extent;
  }
  // Of modes with the same stride, only one can count; let it be the first.
  std::sort(digits.begin(), digits.end(), [](const Digit &x, const Digit &y) {
    return std::pair(x.mode.stride, x.weight) < std::pair(y.mode.stride, y.weight);
  });
  std::vector<Mode> out;
  int64_t reached = 1;
  for (const Digit &d : digits)
    if (d.mode.stride == reached) {
      out.push_back({d.mode.extent, d.weight});
      reached *= d.mode.extent;
    }
  return coalesce(Layout::ofModes(out));
}

std::optional<Layout> leftInverse(const Layout &a) {
  if (!a.isBounded())
    return std::nullopt;
  for (const Mode &m : a.flat())
    if (m.extent > 1 && m.stride == 0)
      return std::nullopt; // two indices, one offset
  std::optional<Layout> rest = complement(a, a.cosize());
  return rest ? std::optional(rightInverse(Layout({a, *rest}))) : std::nullopt;
}

std::optional<Layout> inverse(const Layout &a) {
  if (!a.isBounded())
    return std::nullopt;
  Layout result = rightInverse(a);
  return result.size() == a.size() ? std::optional(result) : std::nullopt;
}

} // namespace penstock::layout
