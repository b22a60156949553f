//===- ExecFence.cpp - Fences, grid dependencies, register counts ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Check.h"
#include "Emulator/Lanes.h"

namespace penstock::emu {
namespace {

/// fence.acq_rel, fence.sc, membar: later relaxed writes release what is known
/// now, and earlier relaxed reads acquire.
void fence(Exec &ex, const DInst &) {
  if (!ex.grid.checks())
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    LaneState &state = ex.warp.lanes[lane];
    if (state.pending) {
      ownView(ex, lane).join(*state.pending);
      state.pending.reset();
    }
    auto snapshot = std::make_unique<View>(ex.cluster.newView());
    releaseInto(ex, 1u << lane, *snapshot);
    ex.warp.lanes[lane].fence = std::move(snapshot);
  });
  tick(ex);
}

/// The generic accesses known now become visible to the async proxy. It counts
/// wherever it lies on the path, as the memory model says; most kernels put it
/// behind the writes, before the barrier.
void proxyFence(Exec &ex, const DInst &) {
  if (!ex.grid.checks())
    return;
  uint32_t gid = ex.warp.gid, count = ex.warp.count;
  if (ex.mask == ex.warp.live) {
    ex.warp.view.fenced.join(ex.warp.view.seen);
    if (ex.mask == ex.warp.started)
      ex.warp.view.fenced.setWarp(gid, count);
    forLanes(ex.mask, [&](unsigned lane) {
      if (ex.mask != ex.warp.started)
        ex.warp.view.fenced.setLane(gid, lane, count);
      if (View *own = ex.warp.lanes[lane].view.get()) {
        own->fenced.join(own->seen);
        own->fenced.setLane(gid, lane, count);
      }
    });
  } else {
    forLanes(ex.mask, [&](unsigned lane) {
      View &own = ownView(ex, lane);
      own.fenced.join(own.seen);
      own.fenced.setLane(gid, lane, count);
    });
  }
  tick(ex);
}

void initFence(Exec &ex, const DInst &) {
  if (!ex.grid.checks())
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    ownView(ex, lane).inits.setLane(ex.warp.gid, lane, ex.warp.count);
  });
  tick(ex);
}

void nothing(Exec &, const DInst &) {}

void setMaxRegisters(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  uint64_t n = inst.imm[0];
  if (n < 24 || n > 256 || n % 8)
    ex.fatal(EmuIllegalOperand, "setmaxnreg of " + std::to_string(n) +
                                    "; 24 to 256 in steps of 8 are legal");
}

template <Handler H>
bool decodeTo(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = H;
  return true;
}

bool decodeFence(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.run = fence;
  // A fence wider than the cluster hints at communication between clusters.
  if (inst.has(".gpu") || inst.has(".sys") || inst.has(".gl"))
    out.flags = 1;
  return true;
}

bool decodeSetMax(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  if (!Decoder::immediate(inst.operands[0], out.imm[0]))
    return d.fail(inst, "the count must be a constant");
  out.run = setMaxRegisters;
  return true;
}

} // namespace

void addFence(DecodeTable &table) {
  table["fence"] = table["membar"] = decodeFence;
  table["fence.proxy.async"] = decodeTo<proxyFence>;
  table["fence.proxy"] = decodeTo<nothing>; // .alias: one mapping exists here
  table["fence.mbarrier_init"] = decodeTo<initFence>;
  // Tensor maps are read when a copy is issued; the checker sees map edits as
  // generic writes.
  table["fence.proxy.tensormap::generic"] = decodeTo<proxyFence>;
  // Grids run one after another: there is nothing to wait for.
  table["griddepcontrol"] = decodeTo<nothing>;
  table["setmaxnreg"] = decodeSetMax;
}

} // namespace penstock::emu
