//===- SyncOracle.h - Plans, instance by instance ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks plans by brute force: it writes out all instances of all threads for every
// small number of iterations and looks for paths between them. Written from the
// meaning of plans (Plan.h) alone. It shares their data type with the verifier, and
// nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_SYNCORACLE_H
#define PENSTOCK_FUZZ_PIPELINES_SYNCORACLE_H

#include "Scheduling/Plan/Plan.h"

#include <set>
#include <tuple>

namespace penstock::fuzz {

struct SyncFaults {
  /// First statement, second statement and buffer of conflicts that are not ordered,
  /// or ordered without a fence that they need.
  std::set<std::tuple<unsigned, unsigned, unsigned>> conflicts;
  std::set<unsigned> inFlight; ///< statements that outlive the loop
  std::set<unsigned> phases;   ///< barriers whose phases can be confused
  /// Statements that access shared memory, and roles of which no thread knows that they have
  /// ended. No fault if all roles meet.
  std::set<std::pair<unsigned, unsigned>> unknownTo;
  /// The same for roles of which some thread does not know it.
  std::set<std::pair<unsigned, unsigned>> unknownToOneOf;
  /// Statements of engines whose end some thread does not know. No fault if all roles meet.
  std::set<unsigned> unknownToSome;
  uint64_t requirements = 0; ///< instances and threads that were compared

  bool any() const { return !conflicts.empty() || !inFlight.empty() || !phases.empty(); }
};

/// Checks loops of 0 .. \p most iterations with \p threads threads per role. Conditions are false
/// unless a statement at hand needs them, so guards must not be negated.
SyncFaults checkInstances(const sched::Plan &, int64_t most = 9, unsigned threads = 5);

/// The same for 2 .. \p most iterations in several runs of the loop, divided in every way,
/// if roles do not meet between two of them.
SyncFaults checkReentered(const sched::Plan &, int64_t most = 6, unsigned threads = 4);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_SYNCORACLE_H
