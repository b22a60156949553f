//===- Generators.h - Candidates for the findings of a kernel ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each generator proposes one family of instructions at all points where it may help. Candidates
// need not be right: each of them is run. A generator proposes nothing that removes work, so that
// no candidate avoids a race by leaving out an access.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_REPAIR_GENERATORS_H
#define PENSTOCK_EMULATOR_REPAIR_GENERATORS_H

#include "Emulator/Repair/Context.h"

namespace penstock::emu {

using Candidates = std::vector<Candidate>;

/// Fences of proxies, tensor memory and wgmma, and of the initialization of mbarriers.
void proposeProxyFences(const RepairContext &context, Candidates &out);
/// commit_group and wait_group of cp.async, bulk copies and wgmma; tcgen05.wait.
void proposeGroups(const RepairContext &context, Candidates &out);
/// bar.warp.sync, bar.sync, barrier.cluster.
void proposeBarriers(const RepairContext &context, Candidates &out);
/// Waits for mbarriers.
void proposeWaits(const RepairContext &context, Candidates &out);
/// Arrivals on mbarriers, also by tcgen05.commit and cp.async.
void proposeArrivals(const RepairContext &context, Candidates &out);
/// Other counts of arrivals and bytes.
void proposeCounts(const RepairContext &context, Candidates &out);
/// Fences of memory, stronger orders and wider scopes.
void proposeMemoryOrder(const RepairContext &context, Candidates &out);

/// All of them for the findings, sorted.
Candidates candidatesFor(const RepairContext &context);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_REPAIR_GENERATORS_H
