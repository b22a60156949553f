//===- Mbarrier.h - The rules of mbarrier objects ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase is complete when no arrival and no byte is pending. The object's own
// bytes in shared memory are opaque; its state lives beside them. Each object
// is an agent of the clocks: the number of phases it has completed is what
// waiters learn, and what the completion of a copy is filed under.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_MBARRIER_H
#define PENSTOCK_EMULATOR_RACES_MBARRIER_H

#include "Emulator/Races/HappensBefore.h"

namespace penstock::emu {

/// The live object at \p address of shared memory, or null after a report.
/// \p lane names the user for the check that the initialization is ordered
/// before this use.
Mbarrier *findMbarrier(Exec &ex, unsigned lane, ptx::Space space, uint64_t address, Cta *&owner,
                       uint32_t &offset);

/// Reports a use of \p barrier by \p lane, or by a copy that it issues, that its initialization is
/// not ordered before.
void checkInitialized(Exec &ex, unsigned lane, const Mbarrier &barrier, uint32_t offset);

/// Changes that may complete the phase. They report misuse themselves. The
/// cluster and point are separate arguments because engines call them, too.
struct MbarrierUse {
  Grid &grid;
  Cluster &cluster;
  ExecutionPoint point;
  uint32_t offset;
  Cta *owner = nullptr;
};
void expectTx(const MbarrierUse &use, Mbarrier &barrier, int64_t bytes);
void completeTx(const MbarrierUse &use, Mbarrier &barrier, int64_t bytes);
void arriveOn(const MbarrierUse &use, Mbarrier &barrier, uint32_t count);

/// Tells whoever listens (LaunchOptions::onBarrier).
void tellBarrier(const Grid &grid, const Mbarrier &barrier, BarrierEvent::Kind kind, uint64_t phase,
                 uint32_t pc);

/// Calls \p fn(lane, barrier, use) for every active lane with the live object that
/// it names; inst.imm[0] is the space of the address. Stops at a fatal finding.
template <class Fn> void forMbarriers(Exec &ex, const DInst &inst, const Opnd &address, Fn &&fn) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    MbarrierUse use{ex.grid, ex.cluster, ex.point(), 0};
    use.point.lane = lane;
    Mbarrier *barrier = findMbarrier(ex, lane, ptx::Space(inst.imm[0]), ex.address(address, lane),
                                     use.owner, use.offset);
    if (barrier)
      fn(lane, *barrier, use);
  });
}

/// The end of an operation that reports to \p barrier: from now on \p op is
/// known to whoever waits for the open phase.
void fileCompletion(Mbarrier &barrier, AsyncOp &op);

/// "mbarrier bars+8 (phase 3: 1 of 2 arrivals and 4096 bytes missing)".
std::string describeMbarrier(const Grid &grid, const Mbarrier &barrier, uint32_t offset);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_MBARRIER_H
