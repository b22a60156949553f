//===- EquivalenceEvidence.h - Reasons why surviving mutants are equivalent -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mutant that no run gives away is either a hole in the checks or a change that
// does no harm. The known harmless cases are here, each with its reason: those
// that follow from what the emulator does not check, and those that are decided
// by looking at the runs.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_MUTATION_EQUIVALENCEEVIDENCE_H
#define PENSTOCK_TESTING_MUTATION_EQUIVALENCEEVIDENCE_H

#include "Emulator/Launch.h"
#include "Testing/Mutation/Mutations.h"

#include <map>
#include <mutex>
#include <set>

namespace penstock {

/// The reason for a kind of change that the emulator cannot check; empty: none.
std::string uncheckedReason(const Mutation &mutation);

/// Which lines arrive in phases that a wait has seen, over all runs of a kernel.
class BarrierEvidence {
public:
  /// To be called for the events of one run; runs may overlap.
  std::function<void(const emu::BarrierEvent &)> listener(uint64_t run);
  /// Returns whether the line arrives on a barrier, but no wait observes a phase of its arrivals.
  bool isNeverAwaited(uint32_t line) const;

private:
  struct Object {
    std::set<std::pair<uint64_t, uint32_t>> arrivals; ///< phase, line
    bool observed = false;
    uint64_t lastObserved = 0;
  };
  mutable std::mutex mutex;
  std::map<std::pair<uint64_t, uint64_t>, Object> objects; ///< by run and barrier
};

/// Keys of a run's findings without their texts, to compare runs.
using FindingKeys = std::set<std::string>;
FindingKeys keysOf(const emu::Report &report);

/// A finding of \p both that \p one has not: the pair of instructions guards what
/// neither does alone. Empty if there is none.
std::string addedBy(const FindingKeys &both, const FindingKeys &one);

} // namespace penstock

#endif // PENSTOCK_TESTING_MUTATION_EQUIVALENCEEVIDENCE_H
