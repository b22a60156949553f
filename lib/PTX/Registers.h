//===- Registers.h - Registers that PTX instructions access -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_REGISTERS_H
#define PENSTOCK_PTX_REGISTERS_H

#include "PTX/Module.h"

namespace penstock::ptx {

/// Calls \p fn for each register of an operand.
template <class Fn> void forRegisters(const Operand &operand, Fn &&fn) {
  if (operand.kind == Operand::Kind::Register)
    fn(operand.index);
  for (const Operand &element : operand.elements)
    forRegisters(element, fn);
}

/// Returns whether the first operand is a destination.
bool writesFirst(const Instruction &inst);

/// Returns whether control can go on to the next instruction of the text.
bool fallsThrough(const Instruction &inst);

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_REGISTERS_H
