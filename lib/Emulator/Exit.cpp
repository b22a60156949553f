//===- Exit.cpp - Checks at the end of a kernel ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Races/HappensBefore.h"

namespace penstock::emu {

void checkAtExit(Grid &grid, Cluster &cluster, Cta &cta) {
  for (const auto &warp : cta.warps)
    if (!warp->racedLoads.empty())
      grid.findings.unusedReads.enterEnd(warp->racedLoads, warp->storedLanes);
  // An operation on this block's memory must have been seen complete by some
  // thread of the cluster before it left.
  View all = cluster.newView();
  for (auto &each : cluster.ctas)
    for (auto &warp : each->warps)
      if (warp->exitView)
        all.join(*warp->exitView);
  for (uint32_t index : cta.openOps) {
    const AsyncOp &op = (*cluster.ops)[index];
    if (knows(all.seen, op, true))
      continue;
    Finding finding;
    finding.code = EmuInFlightAtExit;
    finding.point = {op.pc, cta.id[0], cta.id[1], cta.id[2], op.warp % grid.warpsPerCta, op.lane};
    // Hardware of today ends a block after its bulk stores have read shared memory.
    if (op.readAgent)
      finding.tier = Tier::Undefined;
    finding.message = std::string(op.what) +
                      " may still use shared or tensor memory when the block "
                      "ends: no thread waits for it";
    grid.findings.add(std::move(finding));
  }
  if (cta.tensor) {
    uint32_t columns = 0;
    for (uint32_t owner : cta.tensor->allocated)
      columns += owner ? 32 : 0;
    if (columns) {
      Finding finding;
      finding.code = EmuTensorMemoryMisuse;
      finding.point = {cta.tensor->allocPc, cta.id[0], cta.id[1], cta.id[2], 0, 0};
      finding.message =
          "the block ends without freeing " + std::to_string(columns) + " columns of tensor memory";
      grid.findings.add(std::move(finding));
    }
  }
}

void checkBusyRegisters(Exec &ex, const DInst &inst) {
  if (!ex.grid.checks())
    return;
  auto busy = [&](uint32_t owner, const std::string &name, const char *wait) {
    Finding finding;
    finding.code = EmuRegisterInFlight;
    finding.point = ex.point();
    finding.message = "a register is used while " + name + " owns it";
    ExecutionPoint issued = ex.point();
    issued.pc = owner;
    finding.other = issued;
    finding.otherText = name + " was issued here";
    finding.reason = std::string("wait for it with ") + wait + " first";
    ex.grid.findings.add(std::move(finding));
  };
  for (unsigned i = 0; i < inst.numOps; ++i) {
    if (inst.ops[i].kind != Opnd::Kind::Row)
      continue;
    auto found = ex.warp.busyRows.find(inst.ops[i].at);
    if (found != ex.warp.busyRows.end() && found->second.op > ex.warp.wgmmaWaited)
      return busy(found->second.pc, "wgmma", "wgmma.wait_group");
    auto loaded = ex.warp.loadedRows.find(inst.ops[i].at);
    if (loaded == ex.warp.loadedRows.end())
      continue;
    if (ex.grid.options.waitBeforeUse)
      return busy(loaded->second.pc, "tcgen05.ld", "tcgen05.wait::ld");
    if (loaded->second.op > ex.warp.tmemUsed) {
      ex.warp.tmemUsed = loaded->second.op;
      ex.warp.view.seen.setAgent(ex.warp.tmemUseAgent, loaded->second.op);
      for (LaneState &state : ex.warp.lanes)
        if (state.view)
          state.view->seen.setAgent(ex.warp.tmemUseAgent, loaded->second.op);
    }
  }
  if (ex.grid.program->wgmmaRows.empty())
    return;
  for (unsigned i = inst.firstWritten; i < inst.endWritten; ++i)
    if (inst.ops[i].kind == Opnd::Kind::Row)
      ex.warp.dirtyRows.insert(inst.ops[i].at);
}

} // namespace penstock::emu
