//===- Protocol.cpp - Simulation of a barrier protocol --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/Protocol.h"
#include "Diagnostics/Codes.h"
#include "Scheduling/Protocol/ProtocolRun.h"

#include <algorithm>

namespace penstock::sched {

bool ProtocolBox::overlaps(const ProtocolBox &other) const {
  if (tile != other.tile)
    return false;
  for (unsigned d = 0; d < std::min(rank, other.rank); ++d)
    if (end[d] <= other.begin[d] || other.end[d] <= begin[d])
      return false;
  return true;
}

/// Slow engines, and random timings.
static std::vector<ProtocolTiming> telling() {
  using Order = ProtocolTiming::Order;
  std::vector<ProtocolTiming> timings = {{Order::LastRolesFirst, true}, {Order::InTurn, true}};
  constexpr uint32_t chances = 20;
  for (uint32_t seed = 1; seed <= chances; ++seed)
    timings.push_back({Order::Random, false, seed});
  return timings;
}

/// Findings of a wrong run, and behind them accesses that meet in another one: a slot
/// that is filled too early may show as a deadlock in the first timing.
static std::vector<Diagnostic> withRaces(const ProtocolNumbers &numbers,
                                         ProtocolFindings &findings) {
  std::vector<Diagnostic> found = findings.take();
  auto isRace = [](const Diagnostic &d) { return d.code == ProtocolOrder; };
  if (std::any_of(found.begin(), found.end(), isRace))
    return found;
  for (ProtocolTiming timing : telling()) {
    std::vector<Diagnostic> other = runProtocol(numbers, timing).findings.take();
    std::copy_if(other.begin(), other.end(), std::back_inserter(found), isRace);
    if (std::any_of(found.begin(), found.end(), isRace))
      break;
  }
  return found;
}

std::vector<Diagnostic> simulateProtocol(const Protocol &protocol, bool search) {
  if (std::vector<Diagnostic> found = wrongBytes(protocol); !found.empty())
    return found;
  ProtocolNumbers numbers(protocol);
  ProtocolRunResult run = runProtocol(numbers);
  if (run.stopped)
    return withRaces(numbers, run.findings);
  if (!run.doubt)
    return run.findings.take();
  // The timing decides. Some that often show an error come before all of them; what
  // goes wrong there is easier to understand, too.
  for (ProtocolTiming timing : telling()) {
    ProtocolRunResult other = runProtocol(numbers, timing);
    if (run.findings.empty())
      run.findings = std::move(other.findings);
    if (other.stopped)
      return withRaces(numbers, run.findings);
  }
  ProtocolSearchResult all = search ? searchProtocol(numbers)
                                    : ProtocolSearchResult{ProtocolSearchResult::Verdict::Undecided,
                                                           ProtocolFindings(numbers)};
  if (all.verdict == ProtocolSearchResult::Verdict::Right)
    return {};
  if (run.findings.empty() && all.verdict == ProtocolSearchResult::Verdict::Wrong) {
    run.findings = std::move(all.findings);
    run.findings.explain(*run.doubt);
  }
  if (run.findings.empty())
    run.findings.doubt(*run.doubt);
  return run.findings.take();
}

} // namespace penstock::sched
