//===- RunTimes.cpp - Shares of an SM that a run occupied -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Emulated/RunTimes.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace penstock;

RunTimes penstock::runTimes(const std::vector<emu::TraceEvent> &events,
                            const std::vector<emu::PacedTotals> &totals) {
  RunTimes times;
  if (totals.empty() || totals[0].cycles <= 0)
    return times;
  const emu::PacedTotals &all = totals[0];
  times.cycles = all.cycles;
  // The middle half of the products is free of prologue and epilogue.
  std::vector<double> starts;
  double busy = 0;
  for (const emu::TraceEvent &event : events)
    if (event.kind == emu::TraceEvent::Operation &&
        event.engine == emu::AsyncWork::Engine::Product && event.block == 0) {
      starts.push_back(double(event.start));
      busy += double(event.busyUntil - event.start);
    }
  std::map<unsigned, RunTimes::Probe> probes;
  for (const emu::TraceEvent &event : events)
    if (event.kind == emu::TraceEvent::Probe && event.block == 0) {
      RunTimes::Probe &probe = probes[event.sourceLine ? event.sourceLine : event.ptxLine];
      probe.succeeded += event.succeeded;
      ++probe.total;
    }
  for (auto &[line, probe] : probes) {
    probe.line = line;
    times.probes.push_back(probe);
  }
  double cycles = all.cycles, part = 1;
  if (starts.size() >= 4) {
    std::sort(starts.begin(), starts.end());
    size_t from = starts.size() / 4, to = starts.size() - 1 - from;
    cycles = starts[to] - starts[from];
    part = double(to - from) / double(starts.size());
  }
  auto share = [&](double used) { return cycles > 0 ? std::min(1.0, used * part / cycles) : 0; };
  times.tensor = share(starts.empty() ? all.units[unsigned(emu::Unit::Matrix)] : busy);
  times.exponentials = share(all.units[unsigned(emu::Unit::Special)]);
  times.shared = share(all.units[unsigned(emu::Unit::Shared)]);
  times.issue = share(all.issue);
  times.tma = share(all.tma);
  times.multiplyAdds = cycles > 0 ? all.multiplyAdds * part / cycles : 0;
  return times;
}

std::string penstock::occupancyText(const emu::PacedTotals &totals) {
  auto share = [&](const char *name, double cycles) {
    return std::string(name) + " " + std::to_string(std::lround(100 * cycles / totals.cycles)) +
           " %";
  };
  auto unit = [&](emu::Unit unit) { return totals.units[unsigned(unit)]; };
  double tensor = std::max(totals.tensor, unit(emu::Unit::Matrix));
  return "whole run: " + share("tensor core", tensor) + ", " +
         std::to_string(std::llround(totals.multiplyAdds / totals.cycles)) +
         " multiply-adds per cycle; " + share("TMA", totals.tma) + ", " +
         share("issue slots", totals.issue) + ", " + share("FMA", unit(emu::Unit::Fma)) + ", " +
         share("ALU", unit(emu::Unit::Alu)) + ", " +
         share("special functions", unit(emu::Unit::Special)) + ", " +
         share("shared memory", unit(emu::Unit::Shared)) + ", " +
         share("tensor memory", unit(emu::Unit::Tensor)) + ", " +
         share("global memory", unit(emu::Unit::Global));
}

double RunTimes::roofline() const { return std::max({tensor, exponentials, shared}); }

std::string penstock::to_text(const RunTimes &times) {
  auto percent = [](double share) { return std::to_string(std::lround(100 * share)) + " %"; };
  std::string probes, rate;
  if (times.multiplyAdds > 0)
    rate = " (" + std::to_string(std::llround(times.multiplyAdds)) + " multiply-adds per cycle)";
  for (const RunTimes::Probe &probe : times.probes)
    probes += "; the probe of line " + std::to_string(probe.line) + " succeeds " +
              std::to_string(probe.succeeded) + " times of " + std::to_string(probe.total);
  return std::to_string(std::llround(times.cycles)) + " cycles of " + times.chip +
         "; busy in the steady part: tensor core " + percent(times.tensor) + rate +
         ", exponentials " + percent(times.exponentials) + ", shared memory " +
         percent(times.shared) + ", issue slots " + percent(times.issue) + ", TMA " +
         percent(times.tma) + probes;
}
