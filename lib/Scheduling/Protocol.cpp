//===- Protocol.cpp - Whether the roles of a protocol work together -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol.h"
#include "Scheduling/ProtocolRun.h"

#include <algorithm>

namespace penstock::sched {

/// States that a search visits before it gives up: less than a second.
static constexpr size_t mostStates = 200000;

bool ProtocolBox::overlaps(const ProtocolBox &other) const {
  if (tile != other.tile)
    return false;
  for (unsigned d = 0; d < std::min(rank, other.rank); ++d)
    if (end[d] <= other.begin[d] || other.end[d] <= begin[d])
      return false;
  return true;
}

std::vector<Diagnostic> followProtocol(const Protocol &protocol) {
  if (std::vector<Diagnostic> found = wrongBytes(protocol); !found.empty())
    return found;
  ProtocolPlan plan(protocol);
  ProtocolRunResult run = runProtocol(plan);
  if (run.stopped || !run.doubt)
    return run.findings.take();
  ProtocolSearchResult search = searchProtocol(plan, mostStates);
  switch (search.verdict) {
  case ProtocolSearchResult::Verdict::Right:
    return {};
  case ProtocolSearchResult::Verdict::Wrong:
    // What goes wrong in the plain run is easier to understand.
    if (!run.findings.empty())
      return run.findings.take();
    search.findings.explain(*run.doubt);
    return search.findings.take();
  case ProtocolSearchResult::Verdict::Undecided:
    if (run.findings.empty())
      run.findings.doubt(*run.doubt);
    return run.findings.take();
  }
  return {};
}

} // namespace penstock::sched
