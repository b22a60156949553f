//===- ExecBarrier.cpp - Named and cluster barriers -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A round of a barrier collects what its arrivals know; who waits for the round
// learns it. A round without an explicit count is complete when all threads
// that still live have arrived, so threads that exit complete it.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/BarrierRules.h"
#include "Emulator/Races/HappensBefore.h"

#include <bit>

namespace penstock::emu {
namespace {

uint32_t expectedThreads(const Cta &cta, const BarrierRound &round) {
  if (round.expected)
    return round.expected;
  uint32_t n = 0;
  for (auto &warp : cta.warps)
    if (warp->live)
      n += 32; // whole warps take part
  return n;
}

/// Threads of \p cta that have exited no longer hold up \p round.
void noteExits(const Cta &cta, BarrierRound &round) {
  for (const auto &warp : cta.warps)
    if (warp->exitView) {
      if (!round.exits)
        round.exits = std::make_unique<View>(cta.cluster->newView());
      round.exits->join(*warp->exitView);
    }
}

/// The warp has waited for \p round.
void learnExits(Warp &warp, const BarrierRound &round) {
  if (!round.exits)
    return;
  if (!warp.afterExits)
    warp.afterExits = std::make_unique<View>(warp.cta->cluster->newView());
  warp.afterExits->join(*round.exits);
}

void completeIfDue(Cta &cta, std::shared_ptr<BarrierRound> &slot) {
  if (slot && slot->arrived && slot->arrived >= expectedThreads(cta, *slot)) {
    if (!slot->expected)
      noteExits(cta, *slot);
    slot->done = true;
    ++cta.cluster->progress;
    slot.reset();
  }
}

/// imm[0]: 1 waits, 0 only arrives; flags 1: aligned; mode: reduction.
/// ops: barrier, count, predicate, destination.
void barrier(Exec &ex, const DInst &inst) {
  Split &split = ex.split();
  bool waits = inst.imm[0];
  bool checks = ex.grid.checks();
  if (!split.round) {
    if (inst.flags & 1 && !requireAligned(ex))
      return;
    unsigned lane = ex.firstLane();
    uint64_t id = ex.value(inst.ops[0], lane);
    if (id > 15) {
      ex.fatal(EmuBarrierMisuse, "barrier " + std::to_string(id) + " does not exist");
      return;
    }
    uint32_t count = 0;
    if (inst.ops[1].kind != Opnd::Kind::None) {
      count = uint32_t(ex.value(inst.ops[1], lane));
      if (count == 0 || count % 32 || count > 1024) {
        ex.fatal(EmuBarrierMisuse,
                 "a barrier for " + std::to_string(count) + " threads; whole warps are needed");
        return;
      }
    }
    std::shared_ptr<BarrierRound> &slot = ex.cta.named[id];
    if (!slot) {
      slot = std::make_shared<BarrierRound>();
      if (checks)
        slot->view = ex.cluster.newView();
      slot->expected = count;
      slot->reduced[1] = 1;
    } else if (slot->expected != count) {
      ex.fatal(EmuBarrierMisuse, "barrier " + std::to_string(id) + " is used for " +
                                     std::to_string(count) + " and for " +
                                     std::to_string(slot->expected) + " threads at once");
      return;
    }
    std::shared_ptr<BarrierRound> round = slot;
    // A full warp counts 32 even if its last lanes do not exist.
    round->arrived += ex.mask == ex.warp.live ? 32 : unsigned(std::popcount(ex.mask));
    if (round->arrived > expectedThreads(ex.cta, *round)) {
      ex.fatal(EmuBarrierMisuse, "more threads arrive at barrier " + std::to_string(id) +
                                     " than the " + std::to_string(count) + " it waits for");
      return;
    }
    if (inst.mode) {
      uint32_t yes = ex.pred(inst.ops[2]) & ex.mask;
      round->reduced[0] += uint32_t(std::popcount(yes));
      round->reduced[1] &= yes == ex.mask;
      round->reduced[2] |= yes != 0;
    }
    if (checks) {
      releaseInto(ex, ex.mask, round->view);
      tick(ex);
    }
    completeIfDue(ex.cta, slot);
    if (!waits)
      return;
    split.round = round;
  }
  if (!split.round->done) {
    unsigned id = unsigned(ex.value(inst.ops[0], ex.firstLane()));
    ex.block(namedBarrier(ex.grid, id) + ": " + std::to_string(split.round->arrived) + " of " +
             std::to_string(expectedThreads(ex.cta, *split.round)) + " threads have arrived");
    return;
  }
  std::shared_ptr<BarrierRound> round = std::move(split.round);
  split.round.reset();
  if (inst.mode == 1)
    forLanes(ex.mask, [&](unsigned lane) { ex.setValue(inst.ops[3], lane, round->reduced[0]); });
  else if (inst.mode)
    ex.setPred(inst.ops[3], round->reduced[inst.mode - 1] ? ~0u : 0);
  if (checks) {
    acquire(ex, ex.mask, round->view);
    learnExits(ex.warp, *round);
    if (ex.mask == ex.warp.live)
      mergeLanes(ex);
  }
}

bool decodeBarrier(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  const std::string &name = inst.form->name;
  out.imm[0] = name.find("arrive") == std::string::npos;
  bool aligned = name.rfind("bar.", 0) == 0 || inst.has(".aligned");
  out.flags = aligned;
  std::vector<Opnd> ops(4);
  size_t at = 0;
  if (name == "bar.red") {
    out.mode = inst.has(".popc") ? 1 : inst.has(".and") ? 2 : 3;
    if (!d.destination(inst, inst.operands[at++], ops[3]) ||
        !d.predicate(inst, inst.operands.back(), ops[2]))
      return false;
  }
  size_t last = inst.operands.size() - (name == "bar.red" ? 1 : 0);
  if (!d.source(inst, inst.operands[at++], 32, ops[0]))
    return false;
  if (at < last && !d.source(inst, inst.operands[at], 32, ops[1]))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = barrier;
  return true;
}

uint32_t clusterLive(Cluster &cluster) {
  uint32_t n = 0;
  for (auto &cta : cluster.ctas)
    n += cta->liveThreads;
  return n;
}

void completeClusterIfDue(Cluster &cluster) {
  auto &slot = cluster.clusterRound;
  if (slot && slot->arrived && slot->arrived >= clusterLive(cluster) + slot->exited) {
    for (const auto &cta : cluster.ctas)
      noteExits(*cta, *slot);
    slot->done = true;
    ++cluster.progress;
    ++cluster.clusterRounds;
    slot.reset();
  }
}

/// mode 1: relaxed; flags 1: aligned.
void clusterArrive(Exec &ex, const DInst &inst) {
  if (inst.flags & 1 && !requireAligned(ex))
    return;
  if (ex.warp.clusterArrivedLanes & ex.mask) {
    ex.fatal(EmuBarrierMisuse, "a second barrier.cluster.arrive without a wait between");
    return;
  }
  auto &slot = ex.cluster.clusterRound;
  if (!slot) {
    slot = std::make_shared<BarrierRound>();
    if (ex.grid.checks())
      slot->view = ex.cluster.newView();
  }
  ex.warp.clusterArrivedLanes |= ex.mask;
  ex.warp.clusterRound = slot;
  slot->arrived += unsigned(std::popcount(ex.mask));
  if (ex.grid.checks()) {
    if (inst.mode == 0) {
      releaseInto(ex, ex.mask, slot->view);
      tick(ex);
    } else {
      slot->relaxed = true;
      // Publishes only what fences have: initialized mbarriers, and all that
      // a release fence covered.
      forLanes(ex.mask, [&](unsigned lane) {
        slot->view.inits.join(ex.view(lane).inits);
        slot->view.observed.join(ex.view(lane).observed);
        releaseFenced(ex.warp.lanes[lane],
                      ex.grid.ctasPerCluster > 1 ? Scope::Cluster : Scope::Block, slot->view);
      });
    }
  }
  completeClusterIfDue(ex.cluster);
}

void clusterWait(Exec &ex, const DInst &inst) {
  Split &split = ex.split();
  if (!split.round) {
    if (inst.flags & 1 && !requireAligned(ex))
      return;
    if ((ex.warp.clusterArrivedLanes & ex.mask) != ex.mask) {
      ex.fatal(EmuBarrierMisuse, "barrier.cluster.wait without an arrive before it");
      return;
    }
    split.round = ex.warp.clusterRound;
  }
  if (!split.round->done) {
    ex.block("the cluster barrier: " + std::to_string(split.round->arrived) + " of " +
             std::to_string(clusterLive(ex.cluster) + split.round->exited) +
             " threads have arrived");
    return;
  }
  ex.warp.clusterArrivedLanes &= ~ex.mask;
  std::shared_ptr<BarrierRound> round = std::move(split.round);
  split.round.reset();
  if (ex.grid.checks()) {
    acquire(ex, ex.mask, round->view);
    learnExits(ex.warp, *round);
    if (ex.mask == ex.warp.live && !round->relaxed)
      mergeLanes(ex);
  }
}

bool decodeCluster(Decoder &, const ptx::Instruction &inst, DInst &out) {
  out.flags = inst.has(".aligned");
  out.mode = inst.has(".relaxed");
  out.run = inst.form->name == "barrier.cluster.arrive" ? clusterArrive : clusterWait;
  return true;
}

} // namespace

void barriersAfterExit(Exec &ex, uint32_t lanes) {
  // Threads that have arrived at the cluster barrier and do not wait for it still count.
  if (auto &round = ex.warp.clusterRound; round && !round->done)
    round->exited += unsigned(std::popcount(lanes & ex.warp.clusterArrivedLanes));
  ex.warp.clusterArrivedLanes &= ~lanes;
  for (auto &slot : ex.cta.named)
    completeIfDue(ex.cta, slot);
  completeClusterIfDue(ex.cluster);
}

void addBarrier(DecodeTable &table) {
  for (const char *name :
       {"bar.sync", "bar.arrive", "bar.red", "bar.cta.sync", "bar.cta.arrive", "barrier.sync",
        "barrier.arrive", "barrier.cta.sync", "barrier.cta.arrive"})
    table[name] = decodeBarrier;
  table["barrier.cluster.arrive"] = table["barrier.cluster.wait"] = decodeCluster;
}

} // namespace penstock::emu
