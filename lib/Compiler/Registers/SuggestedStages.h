//===- SuggestedStages.h - Stages that registers allow ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_REGISTERS_SUGGESTEDSTAGES_H
#define PENSTOCK_COMPILER_REGISTERS_SUGGESTEDSTAGES_H

#include "Compiler/Compiler.h"

namespace penstock {

/// Compiles a tile program with the number of stages that an error (PS1218) suggests, and replaces
/// the suggestion if the kernel is rejected for its registers then.
void checkSuggestedStages(const std::string &tileProgram, llvm::StringRef kernel,
                          const BackendOptions &options, std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_COMPILER_REGISTERS_SUGGESTEDSTAGES_H
