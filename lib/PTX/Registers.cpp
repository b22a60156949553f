//===- Registers.cpp - Registers that PTX instructions access -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/Registers.h"
#include "PTX/InstructionTable.h"

bool penstock::ptx::writesFirst(const Instruction &inst) {
  if (inst.form->operands.empty() || inst.operands.empty())
    return false;
  char kind = inst.form->operands[0].kind;
  // The vectors of a multiplication are its accumulators.
  return (kind == 'd' || kind == 'q' || kind == 'v') &&
         inst.operands[0].kind != Operand::Kind::Address;
}

bool penstock::ptx::fallsThrough(const Instruction &inst) {
  const std::string &name = inst.form->name;
  bool leaves =
      name == "bra" || name == "brx.idx" || name == "ret" || name == "exit" || name == "trap";
  return !leaves || inst.guarded;
}
