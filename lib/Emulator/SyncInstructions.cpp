//===- SyncInstructions.cpp - Synchronization of a kernel -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/SyncInstructions.h"
#include "PTX/InstructionTable.h"

#include <algorithm>

namespace penstock::emu {

bool synchronizes(const ptx::Instruction &inst) {
  static constexpr std::string_view prefixes[] = {"bar.",
                                                  "barrier.",
                                                  "membar",
                                                  "fence",
                                                  "wgmma.fence",
                                                  "wgmma.wait_group",
                                                  "wgmma.commit_group",
                                                  "cp.async.wait_",
                                                  "cp.async.commit_group",
                                                  "cp.async.bulk.wait_group",
                                                  "cp.async.bulk.commit_group",
                                                  "griddepcontrol.wait",
                                                  "mbarrier.arrive",
                                                  "mbarrier.try_wait",
                                                  "mbarrier.test_wait",
                                                  "tcgen05.commit",
                                                  "tcgen05.wait",
                                                  "tcgen05.fence"};
  const std::string &name = inst.form->name;
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

TextRange textOf(const ptx::Module &module, const ptx::Instruction &inst) {
  const std::string &text = module.text;
  TextRange range;
  for (uint32_t line = 1; line < inst.line; ++line)
    range.begin = text.find('\n', range.begin) + 1;
  range.begin += inst.column - 1;
  range.end = std::min(text.find(';', range.begin), text.size() - 1) + 1;
  return range;
}

std::vector<const ptx::Function *> reachedFunctions(const ptx::Module &module,
                                                    const ptx::Function &entry) {
  std::vector<const ptx::Function *> functions = {&entry};
  for (size_t i = 0; i < functions.size(); ++i)
    for (const auto &inst : functions[i]->body)
      for (const ptx::Operand &operand : inst->operands)
        if (operand.kind == ptx::Operand::Kind::Function)
          if (const ptx::Function *called = module.function(operand.name);
              called && !std::count(functions.begin(), functions.end(), called))
            functions.push_back(called);
  return functions;
}

std::vector<SyncInstruction> syncInstructions(const ptx::Module &module,
                                              const ptx::Function &entry) {
  std::vector<SyncInstruction> found;
  for (const ptx::Function *function : reachedFunctions(module, entry))
    for (const auto &inst : function->body)
      if (synchronizes(*inst))
        found.push_back({function, inst.get()});
  std::sort(found.begin(), found.end(), [](const SyncInstruction &a, const SyncInstruction &b) {
    return std::pair(a.inst->line, a.inst->column) < std::pair(b.inst->line, b.inst->column);
  });
  return found;
}

std::string withoutInstructions(const ptx::Module &module,
                                const std::vector<SyncInstruction> &removed) {
  std::string text = module.text;
  // From the end on, because replacements may be longer.
  std::vector<SyncInstruction> order = removed;
  std::sort(order.begin(), order.end(), [](const SyncInstruction &a, const SyncInstruction &b) {
    return std::pair(a.inst->line, a.inst->column) > std::pair(b.inst->line, b.inst->column);
  });
  for (const auto &[function, inst] : order) {
    auto [from, end] = textOf(module, *inst);
    std::string replacement;
    if (inst->form->name.starts_with("mbarrier.") &&
        inst->form->name.find("_wait") != std::string::npos &&
        inst->operands[0].kind == ptx::Operand::Kind::Register) {
      if (inst->guarded)
        replacement = text.substr(from, text.find_first_of(" \t", from) - from) + " ";
      replacement += "setp.eq.u32 " + function->registers[inst->operands[0].index].name + ", 0, 0;";
    }
    replacement.append(
        size_t(std::count(text.begin() + int64_t(from), text.begin() + int64_t(end), '\n')), '\n');
    text.replace(from, end - from, replacement);
  }
  return text;
}

} // namespace penstock::emu
