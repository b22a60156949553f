//===- ClockPtx.cpp - Runs of PTX on the cycle model of a GPU -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClockPtx.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/Render.h"
#include "Emulator/Races/Tier.h"
#include "Timing/Emulated/ChipPace.h"
#include "Timing/Emulated/RunTimes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace penstock::emu {

std::vector<std::string> clockNames() {
  std::vector<std::string> names;
  for (const hw::Chip &chip : hw::chips())
    names.push_back(chip.name);
  return names;
}

int clockPtx(PtxLaunch &launch, const std::string &text, LaunchOptions options,
             const ClockOptions &wanted, const std::vector<std::pair<size_t, std::string>> &dumps) {
  Device device;
  std::vector<Diagnostic> diagnostics;
  auto module = device.load(text, launch.file, diagnostics);
  fputs(render(diagnostics).c_str(), stderr);
  if (!module)
    return 1;
  if (int missing = launch.allocate(device); missing >= 0) {
    fprintf(stderr, "no memory for buffer %d of the launch\n", missing);
    return 2;
  }
  const hw::Chip &chip = chipForRuns(wanted.chip);
  ChipPace pace(chip);
  std::vector<TraceEvent> events;
  std::vector<PacedTotals> totals; // of each SM
  options.timing = Timing::Paced;
  options.pace = &pace;
  options.threads = 1;
  options.onlyTraced = !wanted.wholeGrid;
  options.onTrace = [&](const TraceEvent &event) { events.push_back(event); };
  options.onTotals = [&](const PacedTotals &all) { totals.push_back(all); };
  Report report = device.launch(*module, launch.kernel, launch.config, options);
  launch.dump(device, dumps);
  fputs(render(report.findings).c_str(), stderr);
  if (totals.empty() || totals[0].cycles <= 0)
    return 1;
  RunTimes times = runTimes(events, totals);
  times.chip = chip.name;
  if (!wanted.json) {
    printf("%s\n%s\n", to_text(times).c_str(), occupancyText(totals[0]).c_str());
  } else {
    auto percent = [](double share) { return size_t(std::lround(100 * share)); };
    puts(JsonObject()
             .text("chip", chip.name)
             .number("cycles", size_t(std::llround(times.cycles)))
             .number("tensor_percent", percent(times.tensor))
             .number("multiply_adds_per_cycle", size_t(std::llround(times.multiplyAdds)))
             .number("exponentials_percent", percent(times.exponentials))
             .number("shared_percent", percent(times.shared))
             .number("issue_percent", percent(times.issue))
             .number("tma_percent", percent(times.tma))
             .str()
             .c_str());
  }
  bool fails = std::any_of(report.findings.begin(), report.findings.end(),
                           [&](const Diagnostic &d) { return tierOf(d) >= wanted.failOn; });
  return !report.completed || fails;
}

} // namespace penstock::emu
