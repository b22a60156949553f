//===- PassInstruments.h - Looking at passes while they run -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_PASSINSTRUMENTS_H
#define PENSTOCK_COMPILER_PASSINSTRUMENTS_H

#include "Compiler/Compiler.h"
#include "mlir/Pass/PassManager.h"

namespace penstock {

/// Adds what the options ask for: the program after each pass, timing, and a
/// reproducer on failure.
void installInstruments(mlir::PassManager &passes, const BackendOptions &options);

} // namespace penstock

#endif // PENSTOCK_COMPILER_PASSINSTRUMENTS_H
