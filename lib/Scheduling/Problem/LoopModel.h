//===- LoopModel.h - Properties of any schedule -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts that do not depend on a schedule, computed once per problem: the
// conflicting pairs with their distances, the waits that end each statement
// (counted waits are bound here, by the source order), and which buffers may
// have a copy per iteration.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_LOOPMODEL_H
#define PENSTOCK_SCHEDULING_PROBLEM_LOOPMODEL_H

#include "Scheduling/Problem/Problem.h"
#include "Scheduling/Problem/RuleSet.h"

namespace penstock::sched {

/// Two accesses that overlap in some pair of iterations, at least one writing;
/// `first` belongs to iteration k, `second` to iteration k + d.
struct Pair {
  StatementId first = none;
  StatementId second = none;
  BufferId buffer = none;
  bool firstWrites = false;
  bool secondWrites = false;
  Proxy firstProxy = Proxy::Generic;
  Proxy secondProxy = Proxy::Generic;
  /// Distances at which the regions overlap; empty if they do so only the other
  /// way round.
  DistanceSet distances;
  /// Their conditions exclude each other within one iteration.
  bool exclusiveGuards = false;
  /// The distributions of the two accesses over threads.
  HolderId firstHolder = none;
  HolderId secondHolder = none;

  /// Is (first, k) before (second, k + d) sequentially, and do both exist
  /// together and overlap?
  bool occursAt(int64_t d) const {
    if (d == 0 && (first >= second || exclusiveGuards))
      return false;
    return distances.contains(d);
  }
};

/// Iteration k ends at iteration k + distance of statement `wait`.
struct Completion {
  StatementId wait = none;
  int64_t distance = 0;
};

class LoopModel {
public:
  explicit LoopModel(const Problem &problem, RuleSet rules = {});

  const Problem &problem;
  const RuleSet rules;
  std::vector<Pair> pairs;
  /// Per statement, the written waits that end its reads and its writes.
  std::vector<std::vector<Completion>> readWaits, writeWaits;
  /// Per commit of a group that is not empty, the counted waits that end the
  /// group: they can do so only after it has been committed.
  std::vector<std::vector<Completion>> commitWaits;
  /// Per statement, the commit that closes its group, or none.
  std::vector<StatementId> commitOf;
  /// Per buffer; the reason is empty where versions are allowed.
  std::vector<bool> versionable;
  std::vector<std::string> fixedBecause;

  const std::vector<Completion> &waits(StatementId s, bool writes) const {
    return writes ? writeWaits[s] : readWaits[s];
  }

private:
  void findPairs();
  void bindWaits();
  void bindCountedWait(StatementId wait);
  void findVersionable();
  std::string whyNotVersionable(BufferId buffer) const;
};

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_LOOPMODEL_H
