//===- ProtocolRun.h - One run that stands for all --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLRUN_H
#define PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLRUN_H

#include "Scheduling/Protocol/ProtocolFindings.h"

namespace penstock::sched {

struct ProtocolRunResult {
  ProtocolFindings findings;
  /// The run ended in a deadlock or with too many arrivals, which is an error
  /// whatever else can happen.
  bool stopped = false;
  /// Why other runs may differ from this one; no value if they are equivalent.
  std::optional<PhaseDoubt> doubt;
};

/// Interleaving of roles and engines in a run.
struct ProtocolTiming {
  enum class Order {
    FirstRolesFirst,
    LastRolesFirst,
    InTurn,
    Random
  } order = Order::FirstRolesFirst;
  bool lateEngines = false; ///< engines complete only when no role can go on
  uint32_t seed = 1;        ///< of random orders
};

/// Follows one run to its end. Without a doubt, what it finds is what any run
/// finds.
ProtocolRunResult runProtocol(const ProtocolNumbers &numbers, ProtocolTiming timing = {});

/// The outcome of looking at all runs.
struct ProtocolSearchResult {
  enum class Verdict { Right, Wrong, Undecided } verdict;
  ProtocolFindings findings; ///< of the first wrong run
};

/// Looks at every order in which steps can be taken, up to a bound.
ProtocolSearchResult searchProtocol(const ProtocolNumbers &numbers);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROTOCOL_PROTOCOLRUN_H
