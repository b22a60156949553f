//===- Preferences.h - Preferences that a kernel cannot have ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_PREFERENCES_H
#define PENSTOCK_COMPILER_PREFERENCES_H

#include "mlir/IR/BuiltinOps.h"
#include "penstock/diagnostics.h"

#include <vector>

namespace penstock {

/// Runs \p compile, which rewrites \p module and reports to its argument. A preference of
/// `b.prefer` never makes a program fail: if compilation fails, it is repeated with fewer
/// preferences, and the kernel records the reason, which `explain` prints. Returns false, with the
/// diagnostics of the program without preferences, if that fails, too. Internal errors are
/// reported, not avoided.
bool compileWithPreferences(mlir::ModuleOp module, std::vector<Diagnostic> &diagnostics,
                            llvm::function_ref<bool(std::vector<Diagnostic> &diagnostics)> compile);

} // namespace penstock

#endif // PENSTOCK_COMPILER_PREFERENCES_H
