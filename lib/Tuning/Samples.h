//===- Samples.h - Medians of times -----------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_SAMPLES_H
#define PENSTOCK_TUNING_SAMPLES_H

#include "penstock/tune.h"

namespace penstock::tuning {

/// Fewer undisturbed samples than this are not trusted: all count then.
inline constexpr size_t fewSamples = 3;

/// Sets median and spread from the samples: from the undisturbed ones if there are enough.
void summarize(TuneCandidate &candidate);

/// A point that saves less than this part of the default's time does not replace it: the same
/// kernel differs by as much from one allocation of its tensors to the next.
inline constexpr double leastGain = 0.02;

/// Index of the candidate to use: the default, or the fastest one that has been timed if that
/// is faster by at least leastGain; of equals, the first. -1: none has been timed.
int fastest(const std::vector<TuneCandidate> &candidates);

/// Points that reports list.
inline constexpr size_t listedPoints = 5;

/// At most \p most of the fastest, best first.
std::vector<const TuneCandidate *> ranking(const std::vector<TuneCandidate> &candidates,
                                           size_t most);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_SAMPLES_H
