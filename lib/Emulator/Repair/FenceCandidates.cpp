//===- FenceCandidates.cpp - Missing fences -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Repair/Generators.h"
#include "PTX/InstructionTable.h"

#include <algorithm>

namespace penstock::emu {
namespace {

void everywhere(const RepairContext &context, Strength strength, const std::string &text,
                Candidates &out, int detail = 0) {
  for (const InsertionPoint &point : context.points)
    out.push_back(context.insertion(point, strength, text, detail));
}

bool usesRelaxed(const RepairContext &context) {
  for (const RepairContext::Part &part : context.parts)
    for (const auto &inst : part.function->body)
      if (inst->opcode.find(".relaxed") != std::string::npos)
        return true;
  return false;
}

/// Returns whether threads of the kernel synchronize by accesses to memory.
bool synchronizesByMemory(const RepairContext &context) {
  for (const RepairContext::Part &part : context.parts)
    for (const auto &inst : part.function->body) {
      const std::string &name = inst->form->name;
      bool strong = inst->opcode.find(".acquire") != std::string::npos ||
                    inst->opcode.find(".release") != std::string::npos ||
                    inst->opcode.find(".relaxed") != std::string::npos ||
                    inst->opcode.find(".volatile") != std::string::npos;
      if (name == "atom" || name == "red" || ((name == "ld" || name == "st") && strong))
        return true;
    }
  return usesRelaxed(context);
}

/// Proposes a fence of proxies. By convention, the threads that access memory through the generic
/// proxy execute it before they synchronize with the thread that starts the engine.
void proposeProxyFence(const RepairContext &context, Strength strength, const std::string &text,
                       Candidates &out, int detail = 0) {
  size_t most = 0;
  for (const ptx::Instruction *side : context.sides)
    if (auto *executions = context.profile.find(*side))
      most = std::max(most, executions->warps.size());
  for (const InsertionPoint &point : context.points) {
    bool byFewer = !point.wholeWarps || context.executionsAt(point).warps.size() < most;
    out.push_back(context.insertion(point, strength, text, detail + (byFewer ? 4 : 0)));
  }
}

/// `.relaxed` as `.acquire` or `.release`, and scopes that include more threads.
std::vector<std::string> stronger(const std::string &opcode) {
  std::vector<std::string> opcodes = {opcode}, result;
  if (size_t at = opcode.find(".relaxed"); at != std::string::npos)
    for (const char *order : {".acquire", ".release", ".acq_rel"})
      opcodes.push_back(std::string(opcode).replace(at, 8, order));
  static const std::vector<std::string> scopes = {".cta", ".cluster", ".gpu", ".sys"};
  for (const std::string &each : opcodes) {
    if (each != opcode)
      result.push_back(each);
    for (size_t s = 0; s + 1 < scopes.size(); ++s) {
      size_t at = each.find(scopes[s] + ".");
      bool space = at != std::string::npos && at >= 2 && each[at - 1] == ':';
      if (at == std::string::npos || space)
        continue;
      for (size_t wider = s + 1; wider < scopes.size(); ++wider)
        result.push_back(std::string(each).replace(at, scopes[s].size(), scopes[wider]));
    }
  }
  return result;
}

/// Fences of tensor maps that the kernel edits.
void proposeMapFences(const RepairContext &context, Candidates &out) {
  constexpr int after = 8; // ordinary fences are weaker
  for (const InsertionPoint &point : context.points) {
    out.push_back(context.insertion(point, Strength::ProxyFence,
                                    "fence.proxy.tensormap::generic.release.gpu;", after));
    std::set<std::string> maps;
    const RepairContext::Part &part = context.parts[point.function];
    for (const auto &inst : part.function->body)
      for (const ptx::Operand &operand : inst->operands) {
        bool tensor = operand.kind == ptx::Operand::Kind::Address && operand.elements.size() == 2 &&
                      operand.elements[0].kind == ptx::Operand::Kind::Register;
        if (tensor && context.isLive(point, operand.elements[0].index))
          maps.insert(part.function->registers[operand.elements[0].index].name);
      }
    for (const std::string &map : maps)
      out.push_back(context.insertion(
          point, Strength::ProxyFence,
          "fence.proxy.tensormap::generic.acquire.gpu [" + map + "], 128;", after));
  }
}

} // namespace

void proposeProxyFences(const RepairContext &context, Candidates &out) {
  if (context.module.arch >= 90 && context.has({EmuMbarrierMisuse, EmuMissedPhase}))
    everywhere(context, Strength::InitFence, "fence.mbarrier_init.release.cluster;", out);
  if (context.has({EmuMissingProxyFence})) {
    proposeProxyFence(context, Strength::NarrowProxyFence, "fence.proxy.async.shared::cta;", out);
    proposeProxyFence(context, Strength::NarrowProxyFence, "fence.proxy.async.global;", out, 1);
    if (context.clusterBlocks > 1)
      proposeProxyFence(context, Strength::NarrowProxyFence, "fence.proxy.async.shared::cluster;",
                        out, 2);
    proposeProxyFence(context, Strength::ProxyFence, "fence.proxy.async;", out);
    if (context.uses("tensormap.") || context.uses("fence.proxy.tensormap"))
      proposeMapFences(context, out);
  }
  // Only relaxed synchronization needs it.
  if (context.uses("tcgen05.") && (context.thorough() || usesRelaxed(context)) &&
      context.has({EmuDataRace, EmuTensorMemoryMisuse, EmuRegisterInFlight, EmuUninitialized})) {
    everywhere(context, Strength::TensorFence, "tcgen05.fence::before_thread_sync;", out);
    everywhere(context, Strength::TensorFence, "tcgen05.fence::after_thread_sync;", out);
  }
  if (context.uses("wgmma.mma_async") &&
      context.has({EmuRegisterInFlight, EmuDataRace, EmuWarpgroup}))
    for (const InsertionPoint &point : context.points)
      if (point.wholeWarps)
        out.push_back(context.insertion(point, Strength::WgmmaFence, "wgmma.fence.sync.aligned;"));
}

void proposeMemoryOrder(const RepairContext &context, Candidates &out) {
  if (!context.has({EmuDataRace, EmuMbarrierMisuse, EmuMissedPhase, EmuUninitialized}) ||
      !(context.thorough() || synchronizesByMemory(context)))
    return;
  for (const RepairContext::Part &part : context.parts)
    for (const auto &inst : part.function->body) {
      const std::string &name = inst->form->name;
      bool strong = name == "ld" || name == "st" || name == "atom" || name == "red" ||
                    name.starts_with("mbarrier.") || name == "fence" ||
                    name.starts_with("barrier.cluster");
      if (!strong || !context.profile.find(*inst))
        continue;
      std::string text = context.textOfInstruction(*inst);
      for (const std::string &opcode : stronger(inst->opcode)) {
        std::string changed = text;
        changed.replace(changed.find(inst->opcode), inst->opcode.size(), opcode);
        int detail = opcode.find(".sys") != std::string::npos       ? 3
                     : opcode.find(".gpu") != std::string::npos     ? 2
                     : opcode.find(".cluster") != std::string::npos ? 1
                                                                    : 0;
        out.push_back(context.replacement(*inst, Strength::MemoryOrder, changed, detail));
      }
    }
  static const std::pair<Strength, const char *> fences[] = {{Strength::FenceBlock, ".cta"},
                                                             {Strength::FenceCluster, ".cluster"},
                                                             {Strength::FenceDevice, ".gpu"},
                                                             {Strength::FenceSystem, ".sys"}};
  for (auto [strength, scope] : fences)
    if (strength != Strength::FenceCluster || context.module.arch >= 90)
      everywhere(context, strength, std::string("fence.acq_rel") + scope + ";", out);
}

} // namespace penstock::emu
