//===- DeriveJoins.cpp - Fewest joins for a role --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/DeriveJoins.h"

#include <algorithm>

namespace penstock::sched {

int64_t stepWithin(const Stretch &s, const GapPoint &point) {
  int64_t step = point.gap <= s.toIndex ? s.toStep : s.toStep - 1;
  // An earlier instance may exist where the latest does not.
  step = std::min(step, s.distance + point.stage);
  bool after = step > s.fromStep || (step == s.fromStep && point.gap > s.fromIndex);
  return after && step - point.stage >= 0 ? step : -1;
}

std::vector<GapPoint> stab(const std::vector<Stretch> &stretches, size_t issues, int64_t stages) {
  if (stretches.empty())
    return {};
  struct Candidate {
    GapPoint point;
    std::vector<uint64_t> hits; ///< a bit per stretch
    int64_t slack = 0;          ///< distance from the first statements, summed
  };
  size_t words = (stretches.size() + 63) / 64;
  std::vector<Candidate> candidates;
  for (size_t gap = 0; gap < issues; ++gap)
    for (int64_t stage = 0; stage < stages; ++stage) {
      Candidate c{{gap, stage}, std::vector<uint64_t>(words, 0), 0};
      for (size_t i = 0; i < stretches.size(); ++i)
        if (int64_t step = stepWithin(stretches[i], c.point); step >= 0) {
          c.hits[i / 64] |= uint64_t(1) << (i % 64);
          c.slack += (step - stretches[i].fromStep) * int64_t(issues) + int64_t(gap) -
                     int64_t(stretches[i].fromIndex);
        }
      candidates.push_back(std::move(c));
    }
  auto missing = [&](const std::vector<uint64_t> &hits) {
    size_t count = stretches.size();
    for (uint64_t word : hits)
      count -= size_t(__builtin_popcountll(word));
    return count;
  };
  auto together = [&](const Candidate &a, const Candidate &b) {
    std::vector<uint64_t> hits = a.hits;
    for (size_t w = 0; w < words; ++w)
      hits[w] |= b.hits[w];
    return hits;
  };
  const Candidate *one = nullptr, *other = nullptr;
  for (const Candidate &c : candidates)
    if (missing(c.hits) == 0 && (!one || c.slack > one->slack))
      one = &c;
  if (one)
    return {one->point};
  for (size_t a = 0; a < candidates.size(); ++a)
    for (size_t b = a + 1; b < candidates.size(); ++b)
      if (missing(together(candidates[a], candidates[b])) == 0 &&
          (!one || candidates[a].slack + candidates[b].slack > one->slack + other->slack)) {
        one = &candidates[a];
        other = &candidates[b];
      }
  if (one)
    return {one->point, other->point};
  // Each time the point that lies in most of the remaining stretches.
  Candidate all{{}, std::vector<uint64_t>(words, 0), 0};
  std::vector<GapPoint> result;
  while (size_t open = missing(all.hits)) {
    const Candidate *best = nullptr;
    size_t left = open;
    for (const Candidate &c : candidates)
      if (size_t m = missing(together(all, c));
          m < left || (best && m == left && m < open && c.slack > best->slack)) {
        left = m;
        best = &c;
      }
    if (!best)
      break; // a stretch without any point: the schedule is not legal
    all.hits = together(all, *best);
    result.push_back(best->point);
  }
  return result;
}

} // namespace penstock::sched
