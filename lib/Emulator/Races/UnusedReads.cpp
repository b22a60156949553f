//===- UnusedReads.cpp - Racing loads of values without uses --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/UnusedReads.h"
#include "PTX/InstructionTable.h"
#include "PTX/Registers.h"

#include <algorithm>

namespace penstock::emu {
namespace {

using Kind = ptx::Operand::Kind;

/// Returns whether an instruction computes its first operand from the others, and does nothing
/// else. The carry flag is not an operand.
bool onlyComputes(const ptx::Instruction &inst) {
  static constexpr std::string_view families[] = {"Integer arithmetic", "Logic and shifts",
                                                  "Floating point", "Comparison and selection",
                                                  "Moves and conversion"};
  static constexpr std::string_view withCarry[] = {"add.cc", "addc",      "sub.cc",   "subc",
                                                   "madc",   "mad.lo.cc", "mad.hi.cc"};
  return std::find(std::begin(families), std::end(families), inst.form->family) !=
             std::end(families) &&
         std::find(std::begin(withCarry), std::end(withCarry), inst.form->name) ==
             std::end(withCarry);
}

bool isWeakGlobal(const ptx::Instruction &inst, std::string_view name) {
  return inst.form->name == name && inst.has(".global") && !inst.has(".volatile") &&
         !inst.has(".relaxed") && !inst.has(".acquire") && !inst.has(".release") &&
         !inst.has(".mmio");
}

/// The registers of a kernel whose values depend on a load, whatever the order of instructions.
class Slice {
public:
  Slice(const ptx::Function &kernel, const ptx::Instruction &load)
      : reached(kernel.registers.size()) {
    take(load.operands[0]);
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto &inst : kernel.body)
        if (onlyComputes(*inst) && uses(*inst, 1))
          grows |= take(inst->operands[0]);
    }
  }
  bool has(const ptx::Operand &operand) const {
    bool found = false;
    forRegisters(operand, [&](uint32_t index) { found |= reached[index]; });
    return found;
  }
  /// Returns whether the guard, an argument or an operand from \p first on depends on the load.
  bool uses(const ptx::Instruction &inst, size_t first) const {
    return usesWhere(inst, [&](size_t i) { return i >= first; });
  }
  /// The same for all operands but one.
  bool usesBesides(const ptx::Instruction &inst, size_t operand) const {
    return usesWhere(inst, [&](size_t i) { return i != operand; });
  }

private:
  template <class Fn> bool usesWhere(const ptx::Instruction &inst, Fn &&counts) const {
    bool found = inst.guarded && reached[inst.guard];
    for (size_t i = 0; i < inst.operands.size(); ++i)
      found |= counts(i) && has(inst.operands[i]);
    for (const ptx::Operand &argument : inst.arguments)
      found |= has(argument);
    return found;
  }
  bool take(const ptx::Operand &destination) {
    bool grows = false;
    forRegisters(destination, [&](uint32_t index) {
      grows |= !reached[index];
      reached[index] = true;
    });
    return grows;
  }
  std::vector<bool> reached;
};

} // namespace

const UnusedReads::Stores &UnusedReads::storesOf(const Program &program, uint32_t load) {
  auto [entry, isNew] = stores.try_emplace(load);
  Stores &result = entry->second;
  if (!isNew)
    return result;
  const ptx::Function &kernel = *program.kernel;
  const ptx::Instruction *source = program.code[load].source;
  bool inKernel = std::any_of(kernel.body.begin(), kernel.body.end(),
                              [&](const auto &inst) { return inst.get() == source; });
  if (!inKernel || !isWeakGlobal(*source, "ld"))
    return result;
  Slice slice(kernel, *source);
  std::vector<const ptx::Instruction *> found;
  for (const auto &inst : kernel.body) {
    // Of an instruction that only computes, the result says enough.
    if (onlyComputes(*inst) || !slice.uses(*inst, inst.get() == source ? 1 : 0))
      continue;
    if (!isWeakGlobal(*inst, "st") || slice.usesBesides(*inst, 1))
      return result;
    found.push_back(inst.get());
  }
  if (found.empty()) // nothing says what the value is for
    return result;
  result.emplace();
  for (uint32_t pc = 0; pc < program.code.size(); ++pc)
    if (std::find(found.begin(), found.end(), program.code[pc].source) != found.end())
      result->push_back(pc);
  return result;
}

bool UnusedReads::onlyStored(const Program &program, uint32_t load, uint32_t racingStore) {
  const ptx::Instruction *first = program.code[load].source;
  const ptx::Instruction *second = program.code[racingStore].source;
  if (!first || !second || !isWeakGlobal(*second, "st") ||
      ptx::typeBits(first->type()) != ptx::typeBits(second->type()))
    return false;
  std::lock_guard<std::mutex> lock(mutex);
  return storesOf(program, load).has_value();
}

void UnusedReads::enterEnd(const LanesAt &raced, const LanesAt &stored) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[load, lanes] : raced) {
    auto known = stores.find(load);
    if (known == stores.end() || !known->second) {
      usedLoads.insert(load);
      continue;
    }
    for (uint32_t store : *known->second)
      if (auto executed = stored.find(store); executed != stored.end() && executed->second & lanes)
        usedLoads.insert(load);
  }
}

} // namespace penstock::emu
