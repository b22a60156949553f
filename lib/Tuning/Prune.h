//===- Prune.h - Pruning of a tuning space ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_PRUNE_H
#define PENSTOCK_TUNING_PRUNE_H

#include "Tuning/Points.h"
#include "Tuning/Predictor.h"

namespace penstock::tuning {

/// Stages in their order. Each removes candidates, with a code and a reason.
inline constexpr const char *stageWhere = "where";
inline constexpr const char *stageCheck = "check";
inline constexpr const char *stageResources = "resources";
inline constexpr const char *stagePrediction = "prediction";
inline constexpr const char *stageCompile = "compile";
inline constexpr const char *stageResult = "result";

void removeBy(TuneCandidate &candidate, const char *stage, unsigned code, std::string reason);

/// Target and sizes that candidates are tried for.
struct TuneCase {
  const Points &points;
  Target target;
  Sizes sizes;
  const Predictor *predictor = nullptr; ///< null: nothing is predicted
  /// Without a prediction a candidate has no time, and is removed.
  bool needsPrediction = true;
};

/// Applies the conditions, records the program, checks schedules, barriers and memory and
/// predicts the time of one candidate.
void examine(const TuneCase &on, size_t point, TuneCandidate &candidate);

/// Number of candidates that natively measured spaces keep: \p keep, or a quarter of those left
/// if that is more.
size_t nativeKeep(const std::vector<TuneCandidate> &candidates, size_t keep);

/// Removes all but the \p keep best predicted candidates, \p random others and the default.
/// Does nothing unless all that are left have been predicted.
void keepBest(std::vector<TuneCandidate> &candidates, size_t keep, size_t random, uint64_t seed);

/// Counts of all stages, from the states of the candidates.
std::vector<TuneStage> countStages(const std::vector<TuneCandidate> &candidates);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_PRUNE_H
