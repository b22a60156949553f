//===- ControlFlow.h - Paths through a function of PTX ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_REPAIR_CONTROLFLOW_H
#define PENSTOCK_EMULATOR_REPAIR_CONTROLFLOW_H

#include "PTX/Module.h"

namespace penstock::emu {

/// Successors of instructions, and the registers that are assigned before each.
class ControlFlow {
public:
  explicit ControlFlow(const ptx::Function &function);

  /// Returns whether control can go on to the next instruction of the text.
  bool fallsThrough(size_t index) const;
  /// Returns whether a branch leads to an instruction.
  bool isTarget(size_t index) const { return targets[index]; }
  /// Instructions that go on at another one, or fall through to it.
  const std::vector<size_t> &branchesTo(size_t index) const { return predecessors[index]; }
  /// Returns whether every path to an instruction assigns a register first.
  bool isAssigned(size_t index, uint32_t reg) const;
  /// Numbers of steps from any of \p from to each instruction, in either direction. Steps to an
  /// instruction that computes alone count nothing. Unreachable: ~0u.
  std::vector<unsigned> distances(const std::vector<size_t> &from) const;
  /// Instructions that assign a register.
  const std::vector<size_t> &definitions(uint32_t reg) const { return defs[reg]; }
  /// Returns whether an instruction other than a definition mentions a register.
  bool isUsed(uint32_t reg) const { return used[reg]; }

private:
  void findAssigned();

  const ptx::Function &function;
  std::vector<std::vector<size_t>> successors, predecessors;
  std::vector<bool> targets;
  std::vector<std::vector<size_t>> defs;
  std::vector<bool> used;
  /// By instruction: bits of registers.
  std::vector<std::vector<uint64_t>> assigned;
};

/// Returns whether an instruction only computes registers: it touches no memory that threads
/// share, orders nothing and does not branch.
bool onlyComputes(const ptx::Instruction &inst);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_REPAIR_CONTROLFLOW_H
