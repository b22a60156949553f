//===- ProtocolOracle.h - Step lists in every interleaving ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written from the meaning of step lists alone. It shares their data type with
// the checker, and nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_PROTOCOLORACLE_H
#define PENSTOCK_FUZZ_PIPELINES_PROTOCOLORACLE_H

#include "Scheduling/Protocol/Protocol.h"

namespace penstock::fuzz {

enum class ListFault {
  None,
  Deadlock,      ///< no role and no engine can go on
  Overflow,      ///< an arrival that a phase has no room for
  Bytes,         ///< bytes announced and brought differ
  Race,          ///< accesses that nothing orders
  Uninitialized, ///< a read of what nothing has written
  Unfinished,    ///< a copy that is not awaited
  TooLarge       ///< there are more states than the oracle looks at
};

/// The first fault in any interleaving of the steps of roles and engines.
ListFault explore(const sched::Protocol &protocol, size_t mostStates = 100000);

const char *nameOf(ListFault fault);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_PROTOCOLORACLE_H
