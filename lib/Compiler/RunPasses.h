//===- RunPasses.h - Runs a pipeline of passes ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_RUNPASSES_H
#define PENSTOCK_COMPILER_RUNPASSES_H

#include "Compiler/Compiler.h"
#include "mlir/Pass/PassManager.h"

namespace penstock {

/// An error of the compiler itself, PS0100.
Diagnostic internalError(const std::string &text);

/// Runs \p passes on \p module, with what \p options ask for: the program after
/// each pass, timing, a reproducer. Returns false if a pass failed; then
/// \p diagnostics says why.
///
/// A pass that reports an error with a code refuses the kernel. Any other failure
/// is one of the compiler: only then PS0100 is reported and a reproducer written.
bool runPasses(mlir::PassManager &passes, mlir::ModuleOp module, const BackendOptions &options,
               std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_COMPILER_RUNPASSES_H
