//===- Tier.cpp - Tiers of findings ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Tier.h"
#include "Diagnostics/Codes.h"

namespace penstock::emu {

Tier tierOfCode(unsigned code) {
  switch (code) {
  case EmuSameValue:
  case EmuUnusedRead:
  case PtxNewerVersion:
    return Tier::Note;
  default:
    return Tier::Wrong;
  }
}

Tier tierOf(const Diagnostic &finding) {
  for (const auto &[key, value] : finding.facts)
    if (key == "tier")
      if (auto tier = tierFromName(value))
        return *tier;
  return finding.severity == Severity::Error ? tierOfCode(finding.code) : Tier::Note;
}

const char *tierName(Tier tier) {
  return tier == Tier::Wrong ? "wrong" : tier == Tier::Undefined ? "undefined" : "note";
}

const char *tierText(Tier tier) {
  return tier == Tier::Wrong       ? "wrong on hardware"
         : tier == Tier::Undefined ? "undefined by the ISA"
                                   : "note";
}

std::optional<Tier> tierFromName(std::string_view name) {
  for (Tier tier : {Tier::Note, Tier::Undefined, Tier::Wrong})
    if (name == tierName(tier))
      return tier;
  return std::nullopt;
}

} // namespace penstock::emu
