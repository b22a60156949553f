//===- Mbarrier.cpp - The rules of mbarrier objects -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Mbarrier.h"
#include "Diagnostics/Codes.h"

namespace penstock::emu {
namespace {

constexpr int64_t maxTx = (1 << 20) - 1;

void misuse(const MbarrierUse &use, std::string message) {
  Finding finding;
  finding.code = EmuMbarrierMisuse;
  finding.point = use.point;
  finding.message = "mbarrier " + sharedName(use.grid, use.offset) + ": " + message;
  use.grid.findings.add(std::move(finding));
}

/// The phase that completes now must know that those who waited for the phase before have seen
/// it. Otherwise it may complete before they look, and they wait for a phase that may never come.
void checkObservers(const MbarrierUse &use, Mbarrier &barrier) {
  for (const Mbarrier::Observer &observer : barrier.observers) {
    if (barrier.current.observed.of(observer.warp) >= observer.count)
      continue;
    Finding finding;
    finding.code = EmuMissedPhase;
    finding.point = use.point;
    finding.point.pc = observer.pc;
    finding.point.warp = observer.warp % use.grid.warpsPerCta;
    finding.message = "a phase of mbarrier " + sharedName(use.grid, use.offset) +
                      " may pass before this wait observes it: nothing makes the next phase wait "
                      "for this warp";
    finding.other = use.point;
    finding.otherText = "completes the next phase";
    finding.reason = "a wait by parity that comes two phases late hangs; let only those wait whose "
                     "arrival or copy the next phase needs, or count an arrival of this warp";
    use.grid.findings.add(std::move(finding));
  }
  barrier.observers.clear();
}

void completeIfDue(const MbarrierUse &use, Mbarrier &barrier) {
  if (barrier.pending != 0 || barrier.tx != 0)
    return;
  ++barrier.phase;
  barrier.completedAt = use.cluster.now;
  barrier.pending = barrier.expected;
  if (use.grid.checks()) {
    checkObservers(use, barrier);
    barrier.previous = std::move(barrier.current);
    barrier.previous.seen.setAgent(barrier.agent, uint32_t(barrier.phase));
    barrier.previousRemote = std::move(barrier.currentRemote);
    // Whoever knows a phase knows the phases before it.
    barrier.current = barrier.currentRemote = use.cluster.newView();
  }
  ++use.cluster.progress;
}

} // namespace

void tellBarrier(const Grid &grid, const Mbarrier &barrier, BarrierEvent::Kind kind, uint64_t phase,
                 uint32_t pc) {
  if (!grid.options.onBarrier)
    return;
  BarrierEvent event;
  event.kind = kind;
  event.barrier = barrier.agent;
  event.phase = phase;
  if (pc < grid.program->code.size())
    event.line = grid.program->code[pc].source->line;
  grid.options.onBarrier(event);
}

std::string describeMbarrier(const Grid &grid, const Mbarrier &barrier, uint32_t offset) {
  std::string text = "mbarrier " + sharedName(grid, offset) + " (phase " +
                     std::to_string(barrier.phase) + ": " + std::to_string(barrier.pending) +
                     " of " + std::to_string(barrier.expected) + " arrivals";
  if (barrier.tx)
    text += " and " + std::to_string(barrier.tx) + " bytes";
  return text + " missing)";
}

Mbarrier *findMbarrier(Exec &ex, unsigned lane, ptx::Space space, uint64_t address, Cta *&owner,
                       uint32_t &offset) {
  MemRef ref;
  if (!resolve(ex, lane, space, address, 8, 8, ref))
    return nullptr;
  if (ref.space != ptx::Space::Shared) {
    ex.fatal(EmuMbarrierMisuse, "an mbarrier must lie in shared memory");
    return nullptr;
  }
  owner = ref.cta;
  offset = uint32_t(ref.offset);
  auto found = ref.cta->mbarriers.find(offset);
  if (found == ref.cta->mbarriers.end() || !found->second.live) {
    ex.fatal(EmuMbarrierMisuse,
             "mbarrier " + sharedName(ex.grid, offset) + " is used before it is initialized");
    return nullptr;
  }
  checkInitialized(ex, lane, found->second, offset);
  return &found->second;
}

void checkInitialized(Exec &ex, unsigned lane, const Mbarrier &barrier, uint32_t offset) {
  if (!ex.grid.checks() || (barrier.initWarp == ex.warp.gid && barrier.initLane == lane))
    return;
  const View &view = ex.view(lane);
  if (view.seen.lane(barrier.initWarp, barrier.initLane) >= barrier.initCount ||
      view.inits.lane(barrier.initWarp, barrier.initLane) >= barrier.initCount)
    return;
  Finding finding;
  finding.code = EmuMbarrierMisuse;
  finding.point = ex.point();
  finding.point.lane = lane;
  finding.message = "mbarrier " + sharedName(ex.grid, offset) +
                    " is used by a thread that has not synchronized with its initialization";
  ExecutionPoint init = ex.point();
  init.pc = barrier.initPc;
  init.lane = barrier.initLane;
  init.warp = barrier.initWarp % ex.grid.warpsPerCta;
  finding.other = init;
  finding.otherText = "initialized here";
  finding.reason = "put fence.mbarrier_init and a barrier between them";
  // The object is there, because all threads of the cluster have met since; only a relaxed
  // barrier does not publish it.
  if (ex.cluster.clusterRounds > barrier.initRound) {
    finding.tier = Tier::Undefined;
    finding.reason = "fence.mbarrier_init is missing between the initialization and the relaxed "
                     "barrier.cluster.arrive";
  }
  ex.grid.findings.add(std::move(finding));
}

void expectTx(const MbarrierUse &use, Mbarrier &barrier, int64_t bytes) {
  barrier.tx += bytes;
  if (barrier.tx > maxTx)
    misuse(use, "the count of expected bytes overflows");
}

void completeTx(const MbarrierUse &use, Mbarrier &barrier, int64_t bytes) {
  barrier.tx -= bytes;
  if (barrier.tx < -maxTx)
    misuse(use, "the count of completed bytes overflows");
  completeIfDue(use, barrier);
}

void arriveOn(const MbarrierUse &use, Mbarrier &barrier, uint32_t count) {
  if (int64_t(count) > barrier.pending) {
    misuse(use, std::to_string(count) + " arrivals where only " + std::to_string(barrier.pending) +
                    " are pending in phase " + std::to_string(barrier.phase));
    return;
  }
  tellBarrier(use.grid, barrier, BarrierEvent::Arrive, barrier.phase, use.point.pc);
  barrier.pending -= count;
  completeIfDue(use, barrier);
}

void fileCompletion(Mbarrier &barrier, AsyncOp &op) {
  int slot = op.agent[0] && op.agent[0] != barrier.agent ? 1 : 0;
  op.agent[slot] = barrier.agent;
  op.count[slot] = uint32_t(barrier.phase + 1);
}

} // namespace penstock::emu
