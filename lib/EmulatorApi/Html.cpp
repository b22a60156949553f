//===- Html.cpp - Findings as a web page ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EmulatorApi/Html.h"
#include "Emulator/Races/Tier.h"
#include "Report/Html.h"

#include <algorithm>

using namespace penstock;

std::string emu::toHtml(std::span<const Diagnostic> findings, const SourceLineFn &sourceLine) {
  HtmlPage page("penstock-emu report", sourceLine);
  if (findings.empty()) {
    page.paragraph("No findings.");
    return std::move(page).end();
  }
  constexpr Tier tiers[] = {Tier::Wrong, Tier::Undefined, Tier::Note};
  std::vector<std::vector<std::string>> counts;
  for (Tier tier : tiers)
    counts.push_back({tierText(tier), std::to_string(std::ranges::count(findings, tier, tierOf))});
  page.table({"tier", "findings"}, counts);
  for (Tier tier : tiers)
    for (const Diagnostic &d : findings)
      if (tierOf(d) == tier)
        page.finding(d, {tierName(tier), tierText(tier)});
  return std::move(page).end();
}
