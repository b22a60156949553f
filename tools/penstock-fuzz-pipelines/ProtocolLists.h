//===- ProtocolLists.h - Random step lists ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_PROTOCOLLISTS_H
#define PENSTOCK_FUZZ_PIPELINES_PROTOCOLLISTS_H

#include "Scheduling/Protocol/Protocol.h"

#include <functional>

namespace penstock::fuzz {

/// Step lists of a few roles: a ring with at most one error, lists that were
/// grown along one run, or any steps at all.
sched::Protocol generateLists(uint64_t seed);

/// Leaves out roles and steps for as long as \p fails holds.
sched::Protocol shrinkLists(sched::Protocol protocol,
                            const std::function<bool(const sched::Protocol &)> &fails);

/// A line for each role.
std::string printLists(const sched::Protocol &protocol);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_PROTOCOLLISTS_H
