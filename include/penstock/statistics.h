//===- statistics.h - Counts of this process --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header. Counters of compilations, launches and tuning, for the monitoring of a
// service. penstock/cache.h has the counters of a cache.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_STATISTICS_H
#define PENSTOCK_STATISTICS_H

#include "penstock/export.h"

#include <cstdint>
#include <string>

namespace penstock {

/// Counts since the process started.
struct Statistics {
  uint64_t compiled = 0;          ///< kernels that were not in a cache
  uint64_t failed_compiles = 0;   ///< compilations with errors
  double compile_seconds = 0;     ///< compile time, summed over threads
  uint64_t native_launches = 0;   ///< on this CPU
  uint64_t gpu_launches = 0;      ///< enqueued on a GPU
  uint64_t emulated_launches = 0; ///< on the emulator, or interpreted
  uint64_t failed_launches = 0;   ///< launches that returned errors, on all targets
  uint64_t gpu_loads = 0;         ///< kernels that were loaded on GPUs
  uint64_t assembled = 0;         ///< variants that an assembler or the driver translated
  uint64_t tuned_shapes = 0;      ///< calls of tune
  uint64_t tune_examined = 0;     ///< candidates that were checked and predicted
  uint64_t tune_removed = 0;      ///< candidates that a stage removed
  uint64_t tune_wrong = 0;        ///< candidates with other results than the default
  uint64_t tune_samples = 0;      ///< measurements
  uint64_t tune_disturbed = 0;    ///< measurements disturbed by other processes
  /// Choices of tuned kernels, one for each class of shapes, by their origin.
  uint64_t chosen_from_record = 0, chosen_from_nearest = 0, chosen_from_table = 0,
           chosen_from_model = 0, chosen_default = 0;
};

/// Returns the counters of this process so far.
PENSTOCK_EXPORT Statistics statistics();

/// Statistics as Prometheus text.
PENSTOCK_EXPORT std::string to_prometheus(const Statistics &statistics);

} // namespace penstock

#endif // PENSTOCK_STATISTICS_H
