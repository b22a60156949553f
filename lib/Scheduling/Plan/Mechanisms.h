//===- Mechanisms.h - Issue and completion of engines -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PLAN_MECHANISMS_H
#define PENSTOCK_SCHEDULING_PLAN_MECHANISMS_H

#include "Scheduling/Problem/Problem.h"

namespace penstock::sched {

/// Properties of an engine, by the PTX ISA.
struct Mechanism {
  enum Ends {
    AtIssue,   ///< synchronous
    Groups,    ///< commit_group and wait_group of the issuing threads
    WaitAll,   ///< tcgen05.wait::ld and ::st of the issuing threads
    Bytes,     ///< complete_tx on a barrier
    Committed, ///< an arrival on a barrier after the operations (tcgen05.commit)
  };
  Ends ends = AtIssue;
  /// Issued by one elected thread, not by all threads of the role.
  bool leader = false;
  /// Reads of shared memory can be awaited before the writes (TMA store).
  bool readsEndFirst = false;
  Proxy proxy = Proxy::Generic;
};

const Mechanism &mechanismOf(Engine);

/// Sets the proxy of all accesses of statements with asynchronous engines.
/// Accesses that are asynchronous already stay so.
void bindProxies(Problem &);

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PLAN_MECHANISMS_H
