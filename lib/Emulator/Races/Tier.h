//===- Tier.h - Tiers of findings -------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_TIER_H
#define PENSTOCK_EMULATOR_RACES_TIER_H

#include "Diagnostics/Diagnostic.h"

#include <optional>
#include <string_view>

namespace penstock::emu {

enum class Tier : uint8_t {
  Note,      ///< correct on hardware, as far as is known
  Undefined, ///< undefined by the ISA; hardware of today may do what is meant
  Wrong      ///< wrong results, faults or hangs on hardware
};

/// Tier of findings with \p code, unless the finding itself has another.
Tier tierOfCode(unsigned code);
/// Tier of a finding of a report.
Tier tierOf(const Diagnostic &finding);

/// "wrong", "undefined", "note": as options and tools write it.
const char *tierName(Tier tier);
/// "wrong on hardware", "undefined by the ISA", "note": as messages write it.
const char *tierText(Tier tier);
std::optional<Tier> tierFromName(std::string_view name);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_TIER_H
