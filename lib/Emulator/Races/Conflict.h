//===- Conflict.h - Reporting accesses that race ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_CONFLICT_H
#define PENSTOCK_EMULATOR_RACES_CONFLICT_H

#include "Emulator/Races/HappensBefore.h"

namespace penstock::emu {

/// The order of two conflicting accesses.
enum class Ordered {
  Yes,
  Atomic, ///< none, and none is needed: they are morally strong
  SameValue,
  Rounded, ///< writes of values that differ by rounding
  NoFence,
  InFact,      ///< on hardware, not by the ISA
  OneLane,     ///< for one lane of a warp that made all its accesses by one instruction
  AfterExit,   ///< on hardware, by an exit
  OtherProxy,  ///< both are strong, through different proxies
  NarrowScope, ///< both are strong, and a scope does not include the other thread
  No
};

/// Returns the grid that made an access.
const Grid &gridOf(const Grid &own, const AccessRecord &record);
/// Returns the position of the thread that made an access or issued its operation.
Position positionOf(const Grid &own, const AccessRecord &record);

/// Reports that \p access, by \p lane of ex's warp or by \p engine, conflicts with an earlier one.
void reportConflict(Exec &ex, unsigned lane, const AsyncOp *engine, const AccessRecord &record,
                    const AccessRecord &access, Ordered how, MemoryPart memory);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_CONFLICT_H
