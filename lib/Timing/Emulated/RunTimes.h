//===- RunTimes.h - Shares of an SM that a run occupied ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_EMULATED_RUNTIMES_H
#define PENSTOCK_TIMING_EMULATED_RUNTIMES_H

#include "Emulator/Launch.h"
#include "penstock/check.h"

namespace penstock {

/// From the trace of a run and what the SM of its first block was occupied with.
RunTimes runTimes(const std::vector<emu::TraceEvent> &events,
                  const std::vector<emu::PacedTotals> &totals);

/// Renders the shares of the whole run in which each part of one SM was busy.
std::string occupancyText(const emu::PacedTotals &totals);

} // namespace penstock

#endif // PENSTOCK_TIMING_EMULATED_RUNTIMES_H
