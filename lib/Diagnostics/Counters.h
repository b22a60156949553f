//===- Counters.h - Statistics that threads count in ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIAGNOSTICS_COUNTERS_H
#define PENSTOCK_DIAGNOSTICS_COUNTERS_H

#include "penstock/statistics.h"

#include <atomic>

namespace penstock {

/// Of penstock/statistics.h, with the same meaning.
struct ProcessCounters {
  std::atomic<uint64_t> compiled, failedCompiles, compileNanoseconds;
  std::atomic<uint64_t> nativeLaunches, gpuLaunches, emulatedLaunches, failedLaunches;
  std::atomic<uint64_t> gpuLoads, assembled;
  std::atomic<uint64_t> tunedShapes, tuneExamined, tuneRemoved, tuneWrong, tuneSamples,
      tuneDisturbed;
  std::atomic<uint64_t> chosenFromRecord, chosenFromNearest, chosenFromTable, chosenFromModel,
      chosenDefault;
};
ProcessCounters &counters();

/// Adds without ordering anything else: launches count, too.
inline void count(std::atomic<uint64_t> &counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

} // namespace penstock

#endif // PENSTOCK_DIAGNOSTICS_COUNTERS_H
