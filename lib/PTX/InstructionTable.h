//===- InstructionTable.h - The one table of instructions -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions.def lists every instruction form once: its name, the slots for
// its modifiers, its operands, and the first ISA version and architecture that
// have it. The parser checks instructions against these rows, the reference
// page is printed from them, and the emulator's coverage is counted by them.
//
// Modifiers are matched slot by slot but in any order, because ptxas accepts
// several orders and real kernels use them; type modifiers keep their order,
// which carries meaning (`cvt.f32.f16`).
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_INSTRUCTIONTABLE_H
#define PENSTOCK_PTX_INSTRUCTIONTABLE_H

#include "PTX/Module.h"

#include <span>

namespace penstock::ptx {

struct ModifierSlot {
  std::vector<std::string> choices; ///< with the leading dot
  bool optional = false;
};

struct OperandSpec {
  /// d destination, a source, p predicate source, q predicate destination,
  /// m address, t tensor address, v vector or single, l label, i immediate,
  /// f function.
  char kind = 'a';
  bool pair = false; ///< `d|p` may follow
  bool optional = false;
  /// Width of the register in bits; 0 any, -1 the first type, -2 the second,
  /// -3 twice the first type.
  int bits = 0;
};

struct InstructionForm {
  std::string name;
  std::string modifierText; ///< as in the table, for the reference page
  std::string operandText;
  std::vector<ModifierSlot> slots;
  std::vector<OperandSpec> operands;
  unsigned version = 0;      ///< 86 for 8.6
  unsigned arch = 0;         ///< 90 for sm_90
  bool archSpecific = false; ///< needs sm_90a, sm_100a, ...
  std::string family;
};

std::span<const InstructionForm> instructionForms();

/// Splits \p opcode into dot-separated parts (`::` glues), the first without
/// its dot.
std::vector<std::string_view> splitOpcode(std::string_view opcode);

struct MatchFailure {
  unsigned code = 0;
  std::string message;
};

/// Finds the row that fits \p inst (its opcode, modifiers and operands), sets
/// inst.form and fills inst.modifiers with what follows the row's name.
/// Otherwise says what does not fit.
bool matchInstruction(Instruction &inst, const Function &function, const Module &module,
                      MatchFailure &failure);

/// The reference page docs/reference/ptx-instructions.md; \p executed tells whether the
/// emulator has code for a form.
std::string instructionPage(bool (*executed)(const InstructionForm &));

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_INSTRUCTIONTABLE_H
