//===- BarrierCandidates.cpp - Missing barriers ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Repair/Generators.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <map>

namespace penstock::emu {
namespace {

/// "bar.sync 1, 64;" and the like that the kernel has, each once.
std::vector<std::string> barriersOf(const RepairContext &context) {
  std::vector<std::string> found;
  for (const RepairContext::Part &part : context.parts)
    for (const auto &inst : part.function->body) {
      const std::string &opcode = inst->opcode;
      if (!opcode.starts_with("bar") || opcode.starts_with("bar.warp") ||
          opcode.starts_with("barrier.cluster") || inst->operands.empty() ||
          inst->operands[0].kind != ptx::Operand::Kind::Immediate || inst->operands.size() > 2 ||
          opcode.find(".red") != std::string::npos)
        continue;
      std::string text = opcode;
      for (size_t i = 0; i < inst->operands.size(); ++i)
        text += (i ? ", " : " ") + std::to_string(inst->operands[i].value);
      found.push_back(text + ";");
      // The other side of a barrier that some only arrive at.
      size_t sync = opcode.find(".sync"), arrive = opcode.find(".arrive");
      if (inst->operands.size() == 2) {
        std::string other = text + ";";
        if (sync != std::string::npos)
          other.replace(sync, 5, ".arrive");
        else if (arrive != std::string::npos)
          other.replace(arrive, 7, ".sync");
        found.push_back(other);
      }
    }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// The first barrier that the kernel does not use.
unsigned freeBarrier(const RepairContext &context) {
  std::set<uint64_t> used = {0};
  for (const RepairContext::Part &part : context.parts)
    for (const auto &inst : part.function->body)
      if (inst->opcode.starts_with("bar") && !inst->operands.empty() &&
          inst->operands[0].kind == ptx::Operand::Kind::Immediate)
        used.insert(inst->operands[0].value);
  unsigned id = 1;
  while (used.count(id))
    ++id;
  return id;
}

} // namespace

void proposeBarriers(const RepairContext &context, Candidates &out) {
  if (!context.has({EmuDataRace, EmuUninitialized, EmuMbarrierMisuse, EmuTensorMemoryMisuse,
                    EmuDeadlock, EmuNoProgress, EmuBarrierMisuse, EmuMissedPhase, EmuWarpgroup,
                    EmuOutOfBounds, EmuMisaligned, EmuInFlightAtExit, EmuIllegalDescriptor,
                    EmuIllegalOperand, EmuTrap}))
    return;
  std::vector<std::string> known = barriersOf(context);
  unsigned fresh = freeBarrier(context);
  for (const InsertionPoint &point : context.points) {
    if (!point.wholeWarps)
      continue;
    if (context.withinWarp || context.thorough())
      out.push_back(context.insertion(point, Strength::WarpBarrier, "bar.warp.sync 0xffffffff;"));
    std::set<uint32_t> warps, blocks;
    for (auto [warp, times] : context.executionsAt(point).warps) {
      warps.insert(warp % context.profile.warpsPerBlock);
      blocks.insert(warp / context.profile.warpsPerBlock);
    }
    if (warps.size() == context.blockWarps || !context.profile.complete)
      out.push_back(context.insertion(point, Strength::BlockBarrier, "bar.sync 0;"));
    for (const std::string &text : known)
      if (text != "bar.sync 0;")
        out.push_back(context.insertion(point, Strength::NamedBarrier, text));
    if (warps.size() > 1 && warps.size() < context.blockWarps && fresh < 16)
      out.push_back(context.insertion(
          point, Strength::NamedBarrier,
          "bar.sync " + std::to_string(fresh) + ", " + std::to_string(32 * warps.size()) + ";", 1));
    if (context.clusterBlocks > 1 || context.uses("barrier.cluster")) {
      // One half may be there.
      const std::string arrive = "barrier.cluster.arrive.aligned;",
                        wait = "barrier.cluster.wait.aligned;";
      out.push_back(context.insertion(point, Strength::ClusterBarrier, arrive));
      out.push_back(context.insertion(point, Strength::ClusterBarrier, wait));
      out.push_back(context.insertion(point, Strength::ClusterBarrier, arrive + " " + wait, 1));
    }
  }
}

} // namespace penstock::emu
