//===- TestedProgram.h - The tile program of a kernel under test -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel as it was recorded, in a context that it owns. Inputs, shapes and coverage are
// derived from it. Explicit kernels have one, too, but the interpreter cannot run it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_CHECK_TESTEDPROGRAM_H
#define PENSTOCK_TESTING_CHECK_TESTEDPROGRAM_H

#include "Compiler/Compiler.h"
#include "Interpreter/Interpreter.h"
#include "penstock/check.h"

namespace penstock {

class TestedProgram {
public:
  /// Records a kernel; null, with the reasons, on failure.
  static std::shared_ptr<TestedProgram> record(const detail::KernelSource &source,
                                               std::vector<Diagnostic> &diagnostics);
  /// Reads a program that save() wrote; null if it is damaged.
  static std::shared_ptr<TestedProgram> load(const std::string &bytes);
  /// Returns the program, with source locations, as bytes.
  std::string save() const;

  mlir::func::FuncOp kernel() const { return function; }
  mlir::ModuleOp module() const { return *owned; }
  /// Returns whether the kernel uses operations of the hardware.
  bool isExplicit() const;
  /// Runs the program on the interpreter, which changes the arguments.
  InterpretResult run(MadeArguments &made, const InterpretOptions &options = {}) const;
  std::string text() const;

private:
  TestedProgram() = default;

  PooledContext context;
  mlir::OwningOpRef<mlir::ModuleOp> owned;
  mlir::func::FuncOp function;
};

} // namespace penstock

#endif // PENSTOCK_TESTING_CHECK_TESTEDPROGRAM_H
