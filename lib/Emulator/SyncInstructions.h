//===- SyncInstructions.h - Synchronization of a kernel ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_SYNCINSTRUCTIONS_H
#define PENSTOCK_EMULATOR_SYNCINSTRUCTIONS_H

#include "PTX/Module.h"

namespace penstock::emu {

/// A synchronizing instruction, and the function that has it.
struct SyncInstruction {
  const ptx::Function *function;
  const ptx::Instruction *inst;
};

/// Bytes of a text.
struct TextRange {
  size_t begin = 0, end = 0;
};

/// Returns the range of an instruction in the text, from its guard to its semicolon.
TextRange textOf(const ptx::Module &module, const ptx::Instruction &inst);

/// Returns true if removing an instruction can only remove order, not data.
bool synchronizes(const ptx::Instruction &inst);

/// The kernel and the functions that it calls, directly or not.
std::vector<const ptx::Function *> reachedFunctions(const ptx::Module &module,
                                                    const ptx::Function &entry);

/// Synchronizing instructions of these functions, in the order of the text.
std::vector<SyncInstruction> syncInstructions(const ptx::Module &module,
                                              const ptx::Function &entry);

/// Replaces instructions of the text by blanks, so that all lines keep their numbers. A wait for
/// an mbarrier becomes one that is over.
std::string withoutInstructions(const ptx::Module &module,
                                const std::vector<SyncInstruction> &removed);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_SYNCINSTRUCTIONS_H
