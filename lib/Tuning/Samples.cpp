//===- Samples.cpp - Medians of times -------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Samples.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::tuning;

static double quantile(const std::vector<double> &sorted, double q) {
  double at = q * double(sorted.size() - 1);
  size_t below = size_t(at);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

void tuning::summarize(TuneCandidate &candidate) {
  candidate.disturbed.resize(candidate.samples.size());
  std::vector<double> used;
  for (size_t i = 0; i < candidate.samples.size(); ++i)
    if (!candidate.disturbed[i])
      used.push_back(candidate.samples[i]);
  if (used.size() < std::min(fewSamples, candidate.samples.size()))
    used = candidate.samples;
  candidate.seconds = candidate.spread = 0;
  if (used.empty())
    return;
  std::sort(used.begin(), used.end());
  candidate.seconds = quantile(used, 0.5);
  if (candidate.seconds > 0)
    candidate.spread = (quantile(used, 0.75) - quantile(used, 0.25)) / candidate.seconds;
}

int tuning::fastest(const std::vector<TuneCandidate> &candidates) {
  int best = -1, standard = -1;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].removed_by.empty() || candidates[i].seconds <= 0)
      continue;
    if (best < 0 || candidates[i].seconds < candidates[size_t(best)].seconds)
      best = int(i);
    if (candidates[i].is_default)
      standard = int(i);
  }
  if (standard >= 0 &&
      candidates[size_t(best)].seconds > (1 - leastGain) * candidates[size_t(standard)].seconds)
    return standard;
  return best;
}

std::vector<const TuneCandidate *> tuning::ranking(const std::vector<TuneCandidate> &candidates,
                                                   size_t most) {
  std::vector<const TuneCandidate *> timed;
  for (const TuneCandidate &candidate : candidates)
    if (candidate.removed_by.empty() && candidate.seconds > 0)
      timed.push_back(&candidate);
  // Of equals, the first in the list.
  std::sort(timed.begin(), timed.end(), [](auto *a, auto *b) {
    return a->seconds != b->seconds ? a->seconds < b->seconds : a < b;
  });
  if (timed.size() > most)
    timed.resize(most);
  return timed;
}
