//===- Launch.h - State shared by a launch's blocks -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_LAUNCH_H
#define PENSTOCK_INTERPRETER_LAUNCH_H

#include "Diagnostics/Codes.h"
#include "Interpreter/Interpreter.h"
#include "llvm/ADT/DenseSet.h"

namespace penstock::interpreter {

/// Options, faults and the step count of a launch.
class Launch {
public:
  explicit Launch(const InterpretOptions &options) : options(options) {}

  const InterpretOptions &options;
  /// The coordinates of the block that runs, for faults; empty before.
  llvm::SmallVector<int64_t, 3> block;

  /// Counts \p steps of work that \p op is about to do. Returns false, having
  /// recorded a fault, if the launch has none left; nothing runs after that.
  bool charge(mlir::Operation *op, uint64_t steps);
  bool stopped() const { return stop; }
  uint64_t steps() const { return used; }

  /// Returns whether fault() would still record this, to avoid formatting the message.
  bool wants(mlir::Operation *op, DiagnosticCode code) const;
  void fault(mlir::Operation *op, DiagnosticCode code, std::string message,
             std::vector<DiagnosticNote> notes = {}, std::vector<std::string> helps = {});
  /// A fault after which the launch cannot go on.
  void fatal(mlir::Operation *op, DiagnosticCode code, std::string message);

  std::vector<Diagnostic> takeFaults() { return std::move(faults); }

private:
  uint64_t used = 0;
  bool stop = false;
  std::vector<Diagnostic> faults;
  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> seen;
};

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_LAUNCH_H
