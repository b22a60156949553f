//===- ExecTcgen05Commit.cpp - tcgen05.commit -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/AsyncCopy.h"
#include "Emulator/Lanes.h"
#include "Emulator/Tensor/TensorMemory.h"

namespace penstock::emu {
namespace {

using ptx::Space;

/// ops: mbarrier, mask (or none).
void commit(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    Signal signal;
    Space space = Space(inst.imm[0]);
    uint64_t address = ex.address(inst.ops[0], lane);
    if (space == Space::Generic && address <= 0xffffffff) {
      // Hardware takes the low half of the address.
      ex.report(EmuMbarrierMisuse,
                "tcgen05.commit without .shared::cluster takes a generic address and gets one of "
                "shared memory",
                Tier::Undefined);
      space = Space::Shared;
    }
    if (!resolveSignal(ex, lane, space, address, signal))
      return;
    uint32_t mask = 1u << signal.cta->rank;
    if (inst.ops[1].kind != Opnd::Kind::None)
      mask = uint32_t(ex.value(inst.ops[1], lane) & 0xffff);
    if (!mask || mask >> ex.cluster.ctas.size()) {
      ex.fatal(EmuIllegalOperand, "the mask names blocks outside of the cluster");
      return;
    }
    for (uint32_t rank = 0; rank < ex.cluster.ctas.size(); ++rank)
      if (Cta *cta = ex.cluster.ctas[rank].get(); (mask >> rank & 1) && cta != signal.cta)
        if (auto found = cta->mbarriers.find(signal.offset); found != cta->mbarriers.end())
          checkInitialized(ex, lane, found->second, signal.offset);
    Cta::Pipe &pipe = tensorPipe(ex, lane);
    Grid *grid = &ex.grid;
    Cluster *cluster = &ex.cluster;
    ExecutionPoint point = ex.point();
    point.lane = lane;
    uint64_t agent = pipe.agent;
    uint32_t count = pipe.issued, offset = signal.offset;
    // The operations came after all that their thread had acquired, so their
    // end passes that on; not, however, what the thread itself wrote.
    std::shared_ptr<View> known;
    if (ex.grid.checks())
      known = std::make_shared<View>(ex.view(lane));
    ex.cluster.enqueue(
        pipe.agent, "tcgen05.commit", ex.pc,
        [=] {
          for (uint32_t rank = 0; rank < cluster->ctas.size(); ++rank) {
            if (!(mask >> rank & 1))
              continue;
            auto found = cluster->ctas[rank]->mbarriers.find(offset);
            if (found == cluster->ctas[rank]->mbarriers.end() || !found->second.live) {
              Finding finding;
              finding.code = EmuMbarrierMisuse;
              finding.point = point;
              finding.message = "a commit arrives on mbarrier " + sharedName(*grid, offset) +
                                " of a block where it is not live";
              grid->findings.add(std::move(finding));
              continue;
            }
            if (known) {
              found->second.current.join(*known);
              if (count)
                found->second.current.seen.setAgent(agent, count);
            }
            arriveOn({*grid, *cluster, point, offset}, found->second, 1);
          }
        },
        signalBehind(AsyncWork::Engine::Product));
  });
}

bool decodeCommit(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(2);
  if (!d.address(inst, inst.operands[0], ops[0]))
    return false;
  if (inst.operands.size() > 1 && !d.source(inst, inst.operands[1], 32, ops[1]))
    return false;
  out.imm[0] = uint64_t(inst.has(".shared::cluster") ? Space::Shared : Space::Generic);
  d.setOperands(out, std::move(ops));
  out.run = commit;
  return true;
}

} // namespace

void addTcgen05Commit(DecodeTable &table) { table["tcgen05.commit"] = decodeCommit; }

} // namespace penstock::emu
