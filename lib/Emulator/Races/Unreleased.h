//===- Unreleased.h - Values handed over without an order -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the relaxed write or read by which threads communicate through a lock or a flag. Only
// messages use it: they name the operation that must release or acquire.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_UNRELEASED_H
#define PENSTOCK_EMULATOR_RACES_UNRELEASED_H

#include "Emulator/Races/HappensBefore.h"

#include <optional>

namespace penstock::emu {

/// Records a strong write of \p variable by \p lane of ex's warp that releases nothing.
void noteUnreleasedWrite(Exec &ex, unsigned lane, SyncVariable &variable);
/// Records that a strong read by \p lane of ex's warp observes \p variable.
void noteUnreleasedRead(Exec &ex, unsigned lane, const SyncVariable &variable);

/// The operation that would order two accesses if it were not relaxed.
struct RelaxedSide {
  uint32_t warp = 0;
  unsigned lane = 0;
  uint32_t pc = 0;
  bool isRead = false;
};
/// Returns the relaxed write after the access \p record, or the relaxed read before the access of
/// \p lane of ex's warp, through which the threads communicated. None if they did not.
std::optional<RelaxedSide> relaxedBetween(const Exec &ex, unsigned lane,
                                          const AccessRecord &record);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_UNRELEASED_H
