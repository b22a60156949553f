//===- AsyncCopy.h - Helpers of all asynchronous copies ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_ASYNCCOPY_H
#define PENSTOCK_EMULATOR_ASYNCCOPY_H

#include "Emulator/Races/Mbarrier.h"

namespace penstock::emu {

/// The bulk copies of a lane; agents are made on first use.
CopyGroups &bulkGroups(Exec &ex, unsigned lane);

/// The lanes whose bulk or tensor copies happen. The hardware executes these instructions once for
/// all lanes that give the same operands.
uint32_t copyLeaders(Exec &ex, const DInst &inst);

/// Numbers \p op in \p groups. Its completion is what the group's agents count.
uint32_t joinGroup(Exec &ex, CopyGroups &groups, uint32_t op);

/// Mbarrier that the completion of an operation signals.
struct Signal {
  Cta *cta = nullptr;
  uint32_t offset = 0;
};

/// The mbarrier operand of an instruction, checked.
bool resolveSignal(Exec &ex, unsigned lane, ptx::Space space, uint64_t address, Signal &signal);

/// The same for the mbarrier of one of the blocks that a multicast signals.
bool checkMulticast(Exec &ex, unsigned lane, const Signal &signal);

/// A copy of bytes that lie one after another.
AsyncWork plainCopy(AsyncWork::Engine engine, uint64_t bytes);

/// Queues \p copy and then the completion of \p bytes at the signal.
void enqueueSignaled(Exec &ex, unsigned lane, uint32_t op, const Signal &signal, uint32_t bytes,
                     std::function<void()> copy, AsyncWork size);

/// Queues a store that is tracked by the lane's bulk groups: \p read fetches
/// the source, \p write stores it, each in its own time.
void enqueueGrouped(Exec &ex, unsigned lane, uint32_t op, std::function<void()> read,
                    std::function<void()> write, AsyncWork size);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_ASYNCCOPY_H
