//===- DiagnosticBridge.h - From MLIR's diagnostics to ours -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and passes speak through MLIR's diagnostics; a user reads
// penstock::Diagnostic. Code, facts, and which notes are helps or labels travel as
// metadata of MLIR's diagnostics. MLIR's own tools print the text alone, so it
// begins with the code, "help: " or "label: " as well; nothing reads that back.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_DIAGNOSTICBRIDGE_H
#define PENSTOCK_DIALECT_TILE_DIAGNOSTICBRIDGE_H

#include "Diagnostics/Codes.h"
#include "Diagnostics/Diagnostic.h"
#include "mlir/IR/Diagnostics.h"

namespace penstock::tile {

/// Emits an error that carries a stable code.
mlir::InFlightDiagnostic emitCoded(mlir::Location loc, DiagnosticCode code);
mlir::InFlightDiagnostic emitCoded(mlir::Operation *op, DiagnosticCode code);
mlir::InFlightDiagnostic warnCoded(mlir::Location loc, DiagnosticCode code);

/// Gives a diagnostic a code. The message begins behind what it says already.
mlir::InFlightDiagnostic withCode(mlir::InFlightDiagnostic diagnostic, DiagnosticCode code);

/// Attaches the cure; the sentence is to be appended.
mlir::Diagnostic &attachHelp(mlir::InFlightDiagnostic &diagnostic);

/// Emits what a library without MLIR found, at \p loc if it has no location.
void emit(mlir::Location loc, const Diagnostic &diagnostic);

/// \p fallback is the code of messages that carry none, e.g. upstream's.
Diagnostic convert(const mlir::Diagnostic &diagnostic, DiagnosticCode fallback);

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
