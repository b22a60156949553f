//===- DiagnosticBridge.h - From MLIR's diagnostics to ours -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and passes speak through MLIR's diagnostics; a user reads
// penstock::Diagnostic. The text carries the code ("PS1102: ...") and notes
// that start with "help: " carry the cure.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_DIAGNOSTICBRIDGE_H
#define PENSTOCK_DIALECT_TILE_DIAGNOSTICBRIDGE_H

#include "Diagnostics/Codes.h"
#include "Diagnostics/Diagnostic.h"
#include "mlir/IR/Diagnostics.h"

namespace penstock::tile {

/// \p fallback is the code of messages that carry none, e.g. upstream's.
Diagnostic convert(const mlir::Diagnostic &diagnostic, DiagnosticCode fallback);

/// The other way: what a library without MLIR found, said through MLIR, at \p loc
/// if it names no place. A note
/// "label: .." carries what stands under the caret of the line before it.
void emit(mlir::Location loc, const Diagnostic &diagnostic);

/// Collects everything that is said in a context while it lives.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext *context, std::vector<Diagnostic> &diagnostics,
                      DiagnosticCode fallback)
      : handler(context, [&diagnostics, fallback](mlir::Diagnostic &diagnostic) {
          diagnostics.push_back(convert(diagnostic, fallback));
          return mlir::success();
        }) {}

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_DIAGNOSTICBRIDGE_H
