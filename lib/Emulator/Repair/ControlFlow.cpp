//===- ControlFlow.cpp - Paths through a function of PTX ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Repair/ControlFlow.h"
#include "PTX/InstructionTable.h"
#include "PTX/Registers.h"

#include <algorithm>
#include <deque>

namespace penstock::emu {

using ptx::forRegisters;
using ptx::Operand;

bool onlyComputes(const ptx::Instruction &inst) {
  static constexpr std::string_view names[] = {
      "abs",        "add",      "addc",  "and",   "bfe",  "bfi",   "bfind", "bmsk", "brev", "clz",
      "copysign",   "cos",      "cvt",   "cvta",  "div",  "dp2a",  "dp4a",  "ex2",  "fma",  "fns",
      "getctarank", "isspacep", "lg2",   "lop3",  "mad",  "mad24", "madc",  "mapa", "max",  "min",
      "mov",        "mul",      "mul24", "neg",   "not",  "or",    "popc",  "prmt", "rcp",  "rem",
      "rsqrt",      "sad",      "selp",  "set",   "setp", "shf",   "shl",   "shr",  "sin",  "slct",
      "sqrt",       "sub",      "subc",  "szext", "tanh", "testp", "xor"};
  const std::string &name = inst.form->name;
  if (name == "ld")
    return inst.has(".param");
  return std::binary_search(std::begin(names), std::end(names), std::string_view(name));
}

ControlFlow::ControlFlow(const ptx::Function &function) : function(function) {
  size_t count = function.body.size();
  successors.resize(count);
  predecessors.resize(count);
  targets.resize(count);
  defs.resize(function.registers.size());
  used.resize(function.registers.size());
  for (size_t i = 0; i < count; ++i) {
    const ptx::Instruction &inst = *function.body[i];
    auto branch = [&](uint32_t to) {
      if (to >= count)
        return;
      targets[to] = true;
      successors[i].push_back(to);
    };
    for (const Operand &operand : inst.operands) {
      if (operand.kind == Operand::Kind::Label)
        branch(operand.index);
      if (operand.kind == Operand::Kind::Targets && operand.index < function.branchTargets.size())
        for (uint32_t to : function.branchTargets[operand.index])
          branch(to);
    }
    if (fallsThrough(i) && i + 1 < count)
      successors[i].push_back(i + 1);
    for (size_t to : successors[i])
      predecessors[to].push_back(i);
    bool first = ptx::writesFirst(inst);
    for (size_t k = 0; k < inst.operands.size(); ++k)
      forRegisters(inst.operands[k], [&](uint32_t reg) {
        if (k == 0 && first)
          defs[reg].push_back(i);
        else
          used[reg] = true;
      });
    for (const Operand &result : inst.results)
      forRegisters(result, [&](uint32_t reg) { defs[reg].push_back(i); });
    for (const Operand &argument : inst.arguments)
      forRegisters(argument, [&](uint32_t reg) { used[reg] = true; });
    if (inst.guarded)
      used[inst.guard] = true;
  }
  findAssigned();
}

bool ControlFlow::fallsThrough(size_t index) const {
  return ptx::fallsThrough(*function.body[index]);
}

void ControlFlow::findAssigned() {
  size_t count = function.body.size(), words = (function.registers.size() + 63) / 64;
  std::vector<std::vector<uint32_t>> byInstruction(count);
  for (uint32_t reg = 0; reg < defs.size(); ++reg)
    for (size_t at : defs[reg])
      byInstruction[at].push_back(reg);
  assigned.assign(count, std::vector<uint64_t>(words, ~uint64_t(0)));
  if (!count)
    return;
  assigned[0].assign(words, 0);
  std::deque<size_t> open = {0};
  std::vector<bool> seen(count);
  seen[0] = true;
  while (!open.empty()) {
    size_t at = open.front();
    open.pop_front();
    std::vector<uint64_t> out = assigned[at];
    for (uint32_t reg : byInstruction[at])
      out[reg / 64] |= uint64_t(1) << reg % 64;
    for (size_t to : successors[at]) {
      bool changed = !seen[to];
      seen[to] = true;
      for (size_t w = 0; w < words; ++w) {
        uint64_t both = assigned[to][w] & out[w];
        changed |= both != assigned[to][w];
        assigned[to][w] = both;
      }
      if (changed)
        open.push_back(to);
    }
  }
}

bool ControlFlow::isAssigned(size_t index, uint32_t reg) const {
  return assigned[index][reg / 64] >> reg % 64 & 1;
}

std::vector<unsigned> ControlFlow::distances(const std::vector<size_t> &from) const {
  std::vector<unsigned> result(function.body.size(), ~0u);
  std::deque<size_t> open; // those of less distance first
  for (size_t at : from) {
    result[at] = 0;
    open.push_back(at);
  }
  while (!open.empty()) {
    size_t at = open.front();
    open.pop_front();
    auto visit = [&](size_t to) {
      unsigned step = onlyComputes(*function.body[to]) ? 0 : 1;
      if (result[at] + step >= result[to])
        return;
      result[to] = result[at] + step;
      step ? open.push_back(to) : open.push_front(to);
    };
    for (size_t to : successors[at])
      visit(to);
    for (size_t to : predecessors[at])
      visit(to);
  }
  return result;
}

} // namespace penstock::emu
