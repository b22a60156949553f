//===- PacedSm.h - Occupied parts of an SM, on a clock ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TIME_PACEDSM_H
#define PENSTOCK_EMULATOR_TIME_PACEDSM_H

#include "Emulator/Time/Pace.h"

#include <deque>
#include <unordered_map>

namespace penstock::emu {

/// Something that serves one at a time.
struct PacedResource {
  double free = 0; ///< from then on
  double used = 0; ///< cycles so far
  /// Takes it for \p cycles, not before \p from; returns when that begins.
  double take(double from, double cycles) {
    double start = from > free ? from : free;
    free = start + cycles;
    used += cycles;
    return start;
  }
};

/// The SM of one block.
struct PacedSm {
  static constexpr uint32_t quarters = 4;
  PacedResource issue[quarters];
  PacedResource units[quarters][unsigned(Unit::Count)];
  PacedResource tensor, tma;
  double copied = 0;       ///< bytes, by TMA
  double multiplyAdds = 0; ///< of products on the tensor core
  double lastLoad = 0;     ///< start of the last load, for its other receivers
  /// Starts of the products that were issued last, by chain: a thread or a warpgroup.
  std::unordered_map<uint64_t, std::deque<double>> products;
  /// Times at which copies to an mbarrier have arrived.
  std::unordered_map<uint64_t, double> arrivals;

  PacedResource &unit(uint32_t warp, Unit which) {
    return units[isQuartered(which) ? warp % quarters : 0][unsigned(which)];
  }
  PacedTotals totals(double cycles) const;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TIME_PACEDSM_H
