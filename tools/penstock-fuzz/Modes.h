//===- Modes.h - Modes of penstock-fuzz -------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_MODES_H
#define PENSTOCK_FUZZ_MODES_H

#include "Batches.h"

#include "penstock/block.h"

namespace penstock::fuzz {

/// Each runs its cases, prints what fails and a line of figures, and gives the
/// exit status.
int runMutations(const BatchOptions &options);
int runTexts(const BatchOptions &options, const std::string &corpus);
int runCalls(const BatchOptions &options);
int runDivided(const BatchOptions &options);
int runProducts(const BatchOptions &options);
int runPacked(const BatchOptions &options);
int runBoxed(const BatchOptions &options);
int runChained(const BatchOptions &options);
int runAdded(const BatchOptions &options);
int runAround(const BatchOptions &options);
int runAtomics(const BatchOptions &options);
int runCopied(const BatchOptions &options);
int runRings(const BatchOptions &options);
int runPreferred(const BatchOptions &options);

/// Runs one case of a mode; with \p imposed, its kernel has these preferences.
using Family = CaseResult (*)(uint64_t seed, Counters &counters, const Preferences *imposed);
CaseResult addedOne(uint64_t seed, Counters &counters, const Preferences *imposed);
CaseResult aroundOne(uint64_t seed, Counters &counters, const Preferences *imposed);
CaseResult atomicsOne(uint64_t seed, Counters &counters, const Preferences *imposed);
CaseResult boxedOne(uint64_t seed, Counters &counters, const Preferences *imposed);
CaseResult chainedOne(uint64_t seed, Counters &counters, const Preferences *imposed);

/// Runs a mode without preferences.
inline BatchResult runFamily(const BatchOptions &options, Family family) {
  return runBatches(options, [family](uint64_t seed, Counters &counters) {
    return family(seed, counters, nullptr);
  });
}

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_MODES_H
