//===- ExecFence.cpp - Fences, grid dependencies, register counts ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Exec/ExecCall.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/HappensBefore.h"

namespace penstock::emu {
namespace {

/// fence, membar. mode: the scope. flags: the order.
void fence(Exec &ex, const DInst &inst) {
  if (ex.grid.checks())
    fenceMemory(ex, Order(inst.flags), Scope(inst.mode));
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

void nothing(Exec &, const DInst &) {}

/// fence.proxy.tensormap::generic.acquire: from now on copies of this block read
/// the map at the address as it is. ops: address.
void mapFence(Exec &ex, const DInst &inst) {
  if (!ex.grid.checks())
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    std::lock_guard<std::mutex> lock(ex.grid.state->mapMutex);
    uint64_t address = ex.address(inst.ops[0], lane);
    auto edit = ex.grid.state->mapEdits.find(address);
    if (edit != ex.grid.state->mapEdits.end())
      ex.cta.acquiredMaps[address] = edit->second;
  });
}

bool decodeMapFence(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  // The releasing half has no effect here: an edit is seen by whoever acquires.
  out.run = nothing;
  if (!inst.has(".acquire"))
    return true;
  std::vector<Opnd> ops(1);
  uint64_t size;
  if (!d.address(inst, inst.operands[0], ops[0]))
    return false;
  if (!Decoder::immediate(inst.operands[1], size) || size != 128)
    return d.fail(inst, "a tensor map has 128 bytes");
  d.setOperands(out, std::move(ops));
  out.run = mapFence;
  return true;
}

void initFence(Exec &ex, const DInst &) {
  if (!ex.grid.checks())
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    ownView(ex, lane).inits.setLane(ex.warp.gid, lane, ex.warp.count);
  });
  tick(ex);
}

void setMaxRegisters(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  uint64_t n = inst.imm[0];
  if (n < 24 || n > 256 || n % 8)
    ex.fatal(EmuIllegalOperand,
             "setmaxnreg of " + std::to_string(n) + "; 24 to 256 in steps of 8 are legal");
}

template <Handler H> bool decodeTo(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = H;
  return true;
}

bool decodeGridDependency(Decoder &, const ptx::Instruction &inst, DInst &out) {
  out.run = inst.has(".wait") ? runWaitForPrevious : runLaunchDependents;
  return true;
}

bool decodeFence(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  Scope scope = Decoder::scopeOf(inst);
  out.run = fence;
  out.mode = uint8_t(scope);
  out.flags = uint8_t(inst.has(".acquire")   ? Order::Acquire
                      : inst.has(".release") ? Order::Release
                                             : Order::AcquireRelease);
  d.program.narrowAcquires |= scope != Scope::Device;
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
  // One half of a pair; either half counts where it lies on the path.
  table["fence.proxy.async::generic"] = decodeTo<proxyFence>;
  table["fence.proxy"] = decodeTo<nothing>; // .alias: one mapping exists here
  table["fence.mbarrier_init"] = decodeTo<initFence>;
  table["fence.proxy.tensormap::generic"] = decodeMapFence;
  table["griddepcontrol"] = decodeGridDependency;
  table["setmaxnreg"] = decodeSetMax;
}

} // namespace penstock::emu
