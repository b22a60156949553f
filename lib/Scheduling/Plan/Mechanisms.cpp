//===- Mechanisms.cpp - Issue and completion of engines -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/Mechanisms.h"

#include <algorithm>

namespace penstock::sched {

const Mechanism &mechanismOf(Engine engine) {
  using M = Mechanism;
  // In the order of Engine: how it ends, by the leader?, reads end first?, proxy.
  // cp.async writes through the generic proxy.
  static const Mechanism table[numEngines] = {
      {M::AtIssue, false, false, Proxy::Generic}, // Threads
      {M::AtIssue, false, false, Proxy::Generic}, // MmaSync
      {M::Groups, false, false, Proxy::Generic},  // CpAsync
      {M::Bytes, true, false, Proxy::Async},      // TmaLoad
      {M::Groups, true, true, Proxy::Async},      // TmaStore
      {M::Groups, false, false, Proxy::Async},    // Wgmma
      {M::Committed, true, false, Proxy::Async},  // Tcgen05Mma
      {M::WaitAll, false, false, Proxy::Async},   // Tcgen05Load
      {M::WaitAll, false, false, Proxy::Async},   // Tcgen05Store
  };
  return table[std::min(size_t(engine), numEngines - 1)];
}

void bindProxies(Problem &problem) {
  for (Statement &s : problem.statements)
    if (mechanismOf(s.executedBy).proxy == Proxy::Async)
      for (Access &a : s.accesses)
        a.proxy = Proxy::Async;
}

} // namespace penstock::sched
