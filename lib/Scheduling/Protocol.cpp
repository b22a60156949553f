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
  // The timing decides. Some that often show a mistake come before all of them; what
  // goes wrong there is easier to understand, too.
  using Order = ProtocolTiming::Order;
  for (ProtocolTiming timing :
       {ProtocolTiming{Order::LastRolesFirst, true}, ProtocolTiming{Order::InTurn, true}}) {
    ProtocolRunResult other = runProtocol(plan, timing);
    if (run.findings.empty())
      run.findings = std::move(other.findings);
    if (other.stopped)
      return run.findings.take();
  }
  ProtocolSearchResult search = searchProtocol(plan);
  if (search.verdict == ProtocolSearchResult::Verdict::Right)
    return {};
  if (run.findings.empty() && search.verdict == ProtocolSearchResult::Verdict::Wrong) {
    run.findings = std::move(search.findings);
    run.findings.explain(*run.doubt);
  }
  if (run.findings.empty())
    run.findings.doubt(*run.doubt);
  return run.findings.take();
}

} // namespace penstock::sched
