//===- Unreleased.h - Values handed over without an order -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that hand over memory by a lock or a flag whose write is relaxed, or whose read is. Only
// messages depend on it: they name the operation that has to release or acquire.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_UNRELEASED_H
#define PENSTOCK_EMULATOR_RACES_UNRELEASED_H

#include "Emulator/Races/HappensBefore.h"

#include <optional>

namespace penstock::emu {

/// A strong write of \p variable by \p lane of ex's warp releases nothing.
void noteUnreleasedWrite(Exec &ex, unsigned lane, SyncVariable &variable);
/// A strong read by \p lane of ex's warp observes \p variable.
void noteUnreleasedRead(Exec &ex, unsigned lane, const SyncVariable &variable);

/// The operation that would order two accesses if it was not relaxed.
struct RelaxedSide {
  uint32_t warp = 0;
  unsigned lane = 0;
  uint32_t pc = 0;
  bool isRead = false;
};
/// Returns the relaxed write after the access \p record, or the relaxed read before that of
/// \p lane of ex's warp, by which the threads have communicated; none: they have not.
std::optional<RelaxedSide> relaxedBetween(const Exec &ex, unsigned lane,
                                          const AccessRecord &record);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_UNRELEASED_H
