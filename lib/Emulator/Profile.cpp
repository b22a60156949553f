//===- Profile.cpp - Who executes what, and the values of it --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Profile.h"
#include "Emulator/Machine.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <bit>

namespace penstock::emu {

uint64_t ExecutionProfile::Executions::count() const {
  uint64_t all = 0;
  for (auto [warp, times] : warps)
    all += times;
  return all;
}

void ExecutionProfile::reach(const Exec &ex, const DInst &inst, uint32_t lanes) {
  if (!inst.source)
    return;
  Executions &executions = instructions[inst.source];
  warpsPerBlock = ex.grid.warpsPerCta;
  ++executions.warps[ex.warp.gid - ex.cluster.firstWarp];
  executions.wholeWarps &= (lanes & ex.warp.live) == ex.warp.live;
  executions.oneLane &= std::popcount(lanes) <= 1;
}

void ExecutionProfile::note(const Exec &ex, const DInst &inst) {
  if (!inst.source)
    return;
  const std::vector<Split> &splits = ex.warp.splits;
  if (ex.splitIndex < splits.size() && splits[ex.splitIndex].blocked) { // it will be tried again
    --instructions[inst.source].warps[ex.warp.gid - ex.cluster.firstWarp];
    return;
  }
  const ptx::Instruction &source = *inst.source;
  Executions &executions = instructions[&source];
  if (source.form->name == "mbarrier.init")
    forLanes(ex.mask, [&](unsigned lane) {
      barriers.insert(ex.address(inst.ops[0], lane) & sharedOffsetMask);
    });
  for (unsigned i = 0; i < inst.numOps; ++i) {
    const Opnd &op = inst.ops[i];
    if (!op.written)
      continue;
    if (op.kind == Opnd::Kind::Pred) {
      uint32_t holds = ex.pred(op) & ex.mask;
      executions.mostLanes = std::max(executions.mostLanes, unsigned(std::popcount(holds)));
      if (holds)
        executions.trueWarps.insert(ex.warp.index);
    } else if (op.kind == Opnd::Kind::Row && (op.bits == 32 || op.bits == 64) &&
               !executions.manyValues) {
      forLanes(ex.mask, [&](unsigned lane) { executions.values.insert(ex.value(op, lane)); });
      executions.manyValues = executions.values.size() > maxValues;
    }
  }
}

void ExecutionProfile::noteStuck(const Cluster &cluster) {
  const Program &program = *cluster.grid->program;
  for (const auto &cta : cluster.ctas) {
    for (const auto &[offset, barrier] : cta->mbarriers)
      if (barrier.live)
        stuck.push_back({cta->rank, offset, barrier.expected, barrier.pending, barrier.tx});
    for (const auto &warp : cta->warps)
      for (const Split &split : warp->splits) {
        bool polls = !split.blocked && split.polls;
        uint32_t pc = polls ? split.pollPc : split.pc;
        if ((!polls && !split.blocked) || pc >= program.code.size() || !program.code[pc].source)
          continue;
        const DInst &inst = program.code[pc];
        waitsInVain.insert(inst.source);
        if (!inst.source->form->name.starts_with("mbarrier.") || inst.numOps < 2)
          continue;
        const Exec ex{*cluster.grid, *warp->cta->cluster, *cta, *warp, 0, pc, split.mask, &inst};
        forLanes(split.mask, [&](unsigned lane) {
          awaited.insert(ex.address(inst.ops[1], lane) & sharedOffsetMask);
        });
      }
  }
  std::sort(stuck.begin(), stuck.end(), [](const Barrier &a, const Barrier &b) {
    return std::pair(a.block, a.offset) < std::pair(b.block, b.offset);
  });
}

} // namespace penstock::emu
