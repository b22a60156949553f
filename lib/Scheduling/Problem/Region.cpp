//===- Region.cpp - Regions and their conflicts ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Region.h"

#include <algorithm>
#include <limits>

namespace penstock::sched {
namespace {

// Coordinates come from text and may be large; products of two of them and the
// loop index need more than 64 bits.
using Wide = __int128;

constexpr int64_t maxPieces = int64_t(1) << 20;

Wide floorDiv(Wide a, Wide b) {
  Wide q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
Wide ceilDiv(Wide a, Wide b) { return -floorDiv(-a, b); }

/// Nothing keeps two accesses apart along a dimension in which one is unbounded.
bool alwaysOverlap(const AffineInterval &a, const AffineInterval &b) {
  return a.unbounded || b.unbounded;
}

bool isUnbounded(const Region &region) {
  return std::any_of(region.box.begin(), region.box.end(),
                     [](const AffineInterval &x) { return x.unbounded; });
}

/// Both boxes move at the same speed, so overlap does not depend on k.
bool sameSpeed(const Region &a, const Region &b) {
  for (size_t i = 0; i < a.box.size(); ++i)
    if (!alwaysOverlap(a.box[i], b.box[i]) && a.box[i].scale != b.box[i].scale)
      return false;
  return true;
}

/// Turns a membership table over 0 .. maxDistance into maximal runs.
std::vector<DistanceSet::Range> runsOf(const std::vector<bool> &member) {
  std::vector<DistanceSet::Range> ranges;
  for (size_t d = 0; d < member.size(); ++d) {
    if (!member[d])
      continue;
    size_t end = d;
    while (end + 1 < member.size() && member[end + 1])
      ++end;
    ranges.push_back({int64_t(d), int64_t(end), 1});
    d = end;
  }
  return ranges;
}

/// Does \p first of iteration \p k meet \p second of some iteration >= \p from?
bool meetsFrom(const Region &first, int64_t k, const Region &second, int64_t from) {
  Wide lo = from, hi = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < first.box.size(); ++i) {
    const AffineInterval &a = first.box[i], &b = second.box[i];
    if (alwaysOverlap(a, b))
      continue;
    Wide shift = Wide(a.scale) * k + a.offset - b.offset;
    Wide least = shift - b.length + 1, most = shift + a.length - 1;
    Wide s = b.scale; // least <= s * iteration <= most
    if (s == 0) {
      if (least > 0 || most < 0)
        return false;
      continue;
    }
    lo = std::max(lo, s > 0 ? ceilDiv(least, s) : ceilDiv(most, s));
    hi = std::min(hi, s > 0 ? floorDiv(most, s) : floorDiv(least, s));
  }
  return lo <= hi;
}

/// May boxes of different speeds meet at a distance beyond the table? Exact for
/// small iterations of the first; beyond those decided for real numbers by
/// eliminating k, so a yes may be too cautious for offsets of thousands of
/// iterations.
bool mayMeetBeyond(const Region &first, const Region &second) {
  for (int64_t k = 0; k <= maxDistance; ++k)
    if (meetsFrom(first, k, second, k + maxDistance + 1))
      return true;
  struct Bound { // (constant + slope * d) / divisor, divisor > 0
    Wide constant, slope, divisor;
  };
  std::vector<Bound> lower = {{maxDistance + 1, 0, 1}}, upper;
  Wide lo = maxDistance + 1, hi = std::numeric_limits<int64_t>::max();
  auto restrict = [&](Wide factor, Wide most) { // factor * d <= most
    if (factor > 0)
      hi = std::min(hi, floorDiv(most, factor));
    else if (factor < 0)
      lo = std::max(lo, ceilDiv(most, factor));
    else if (most < 0)
      hi = lo - 1;
  };
  for (size_t i = 0; i < first.box.size(); ++i) {
    const AffineInterval &a = first.box[i], &b = second.box[i];
    if (alwaysOverlap(a, b))
      continue;
    Wide delta = Wide(b.scale) - a.scale;
    Wide shift = Wide(b.offset) - a.offset;
    Wide least = 1 - Wide(b.length) - shift, most = Wide(a.length) - 1 - shift;
    // least <= delta*k + scale2*d <= most
    if (delta == 0) {
      restrict(b.scale, most);
      restrict(-Wide(b.scale), -least);
    } else if (delta > 0) {
      lower.push_back({least, -Wide(b.scale), delta});
      upper.push_back({most, -Wide(b.scale), delta});
    } else {
      lower.push_back({-most, b.scale, -delta});
      upper.push_back({-least, b.scale, -delta});
    }
  }
  for (const Bound &l : lower)
    for (const Bound &u : upper)
      restrict(l.slope * u.divisor - u.slope * l.divisor,
               u.constant * l.divisor - l.constant * u.divisor);
  return lo <= hi;
}

} // namespace

bool DistanceSet::contains(int64_t d) const {
  return std::any_of(parts.begin(), parts.end(), [&](const Range &r) {
    return d >= r.lo && (!r.hi || d <= *r.hi) && (d - r.lo) % r.step == 0;
  });
}

bool overlapAt(const Region &first, const Region &second, int64_t d) {
  if (first.kind != Region::Kind::Box || second.kind != Region::Kind::Box ||
      first.box.size() != second.box.size())
    return true;
  // Per dimension, with k the iteration of `first`:
  //   -len2 < delta*k + scale2*d + off2 - off1 < len1.
  Wide lo = d < 0 ? -Wide(d) : 0;
  Wide hi = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < first.box.size(); ++i) {
    const AffineInterval &a = first.box[i], &b = second.box[i];
    if (alwaysOverlap(a, b))
      continue;
    Wide delta = Wide(b.scale) - a.scale;
    Wide shift = Wide(b.scale) * d + b.offset - a.offset;
    Wide least = 1 - Wide(b.length) - shift; // <= delta*k
    Wide most = Wide(a.length) - 1 - shift;  // >= delta*k
    if (delta == 0) {
      if (least > 0 || most < 0)
        return false;
      continue;
    }
    Wide from = delta > 0 ? ceilDiv(least, delta) : ceilDiv(most, delta);
    Wide to = delta > 0 ? floorDiv(most, delta) : floorDiv(least, delta);
    lo = std::max(lo, from);
    hi = std::min(hi, to);
  }
  return lo <= hi;
}

DistanceSet overlapDistances(const Region &first, const Region &second) {
  if (first.kind != Region::Kind::Box || second.kind != Region::Kind::Box ||
      first.box.size() != second.box.size())
    return DistanceSet::all();
  bool same = sameSpeed(first, second);
  bool still = same && std::all_of(first.box.begin(), first.box.end(),
                                   [](const auto &x) { return x.scale == 0; });
  if (still)
    return overlapAt(first, second, 0) ? DistanceSet::all() : DistanceSet();
  if (same) {
    // -len2 < scale*d + off2 - off1 < len1 in every dimension.
    Wide lo = 0, hi = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < first.box.size(); ++i) {
      const AffineInterval &a = first.box[i], &b = second.box[i];
      if (alwaysOverlap(a, b))
        continue;
      Wide shift = Wide(b.offset) - a.offset;
      Wide least = 1 - Wide(b.length) - shift, most = a.length - 1 - shift;
      if (a.scale == 0) {
        if (least > 0 || most < 0)
          return DistanceSet();
        continue;
      }
      Wide s = a.scale;
      lo = std::max(lo, s > 0 ? ceilDiv(least, s) : ceilDiv(most, s));
      hi = std::min(hi, s > 0 ? floorDiv(most, s) : floorDiv(least, s));
    }
    if (lo > hi)
      return DistanceSet();
    return DistanceSet({DistanceSet::Range{int64_t(lo), int64_t(hi), 1}});
  }
  // Boxes of different speeds may meet at any distance.
  std::vector<bool> member(maxDistance + 1);
  for (int64_t d = 0; d <= maxDistance; ++d)
    member[d] = overlapAt(first, second, d);
  std::vector<DistanceSet::Range> ranges = runsOf(member);
  if (mayMeetBeyond(first, second))
    ranges.push_back({maxDistance + 1, std::nullopt, 1});
  return DistanceSet(std::move(ranges));
}

/// Calls \p visit with each piece that is left, until it returns false.
template <class Visit>
static void visitUncovered(const Region &read, const std::vector<Region> &writes, Visit visit) {
  std::vector<const Region *> useful;
  for (const Region &w : writes) {
    if (w.kind == Region::Kind::Whole)
      return;
    if (w.kind == Region::Kind::Box && read.kind == Region::Kind::Box &&
        w.box.size() == read.box.size() && !isUnbounded(read) && !isUnbounded(w) &&
        sameSpeed(read, w))
      useful.push_back(&w);
  }
  if (useful.empty()) {
    visit(read);
    return;
  }
  // Compress coordinates relative to the moving corner and look at each cell of
  // the grid that the boxes cut out of `read`.
  size_t rank = read.box.size();
  std::vector<std::vector<int64_t>> cuts(rank);
  for (size_t i = 0; i < rank; ++i) {
    int64_t lo = read.box[i].offset, hi = lo + read.box[i].length;
    cuts[i] = {lo, hi};
    for (const Region *w : useful)
      for (int64_t c : {w->box[i].offset, w->box[i].offset + w->box[i].length})
        if (c > lo && c < hi)
          cuts[i].push_back(c);
    std::sort(cuts[i].begin(), cuts[i].end());
    cuts[i].erase(std::unique(cuts[i].begin(), cuts[i].end()), cuts[i].end());
  }
  // So many pieces are an error in the input rather than a tile; what cannot
  // be shown does not hold.
  __int128 pieces = 1;
  for (const auto &c : cuts)
    pieces *= __int128(c.size() - 1);
  if (pieces > maxPieces) {
    visit(read);
    return;
  }
  std::vector<size_t> at(rank, 0);
  while (true) {
    bool inside = std::any_of(useful.begin(), useful.end(), [&](auto *w) {
      for (size_t i = 0; i < rank; ++i)
        if (cuts[i][at[i]] < w->box[i].offset ||
            cuts[i][at[i]] >= w->box[i].offset + w->box[i].length)
          return false;
      return true;
    });
    if (!inside) {
      Region piece = read;
      for (size_t i = 0; i < rank; ++i) {
        piece.box[i].offset = cuts[i][at[i]];
        piece.box[i].length = cuts[i][at[i] + 1] - cuts[i][at[i]];
      }
      if (!visit(piece))
        return;
    }
    size_t i = 0;
    while (i < rank && ++at[i] + 1 == cuts[i].size())
      at[i++] = 0;
    if (i == rank)
      return;
  }
}

bool covered(const Region &read, const std::vector<Region> &writes) {
  bool all = true;
  visitUncovered(read, writes, [&](const Region &) { return all = false; });
  return all;
}

std::vector<Region> uncovered(const Region &read, const std::vector<Region> &writes) {
  std::vector<Region> left;
  visitUncovered(read, writes, [&](const Region &piece) {
    left.push_back(piece);
    return true;
  });
  return left;
}

} // namespace penstock::sched
