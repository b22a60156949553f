//===- Interpreter.h - Reference execution of tile programs -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a tile program as its text says, one block after the other, without
// generating code. Every back end must compute the same; how numbers behave
// where hardware differs is fixed here:
//
// - Integers wrap. A shift by the width or more gives 0, or the sign for an
//   arithmetic shift. Division by zero, and one whose result does not fit, is a
//   fault and gives 0.
// - Each floating-point operation rounds once to its type, to nearest even.
//   Conversion to an integer saturates, and gives 0 for NaN. The bits of a NaN
//   are kept by copies and by nothing else.
// - `gemm` adds float products to a float in order of k, each rounded, without
//   fused multiply-add; `reduce` combines in index order, in the target's type.
// - `atomic` and `reduce` give NaN for max and min if either side is NaN.
// - Two accumulating products into one tile take effect in the order in which
// they
//   were issued, however asynchronous.
//
// Whatever a program does, running it ends in a result: what is wrong at run
// time is collected as faults.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_INTERPRETER_H
#define PENSTOCK_INTERPRETER_INTERPRETER_H

#include "Diagnostics/Diagnostic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "penstock/launch.h"

namespace penstock {

/// Receives the control flow of a launch, e.g. to measure coverage.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  /// Called before the first block with the extents of the grid.
  virtual void onGrid(mlir::Operation *grid, llvm::ArrayRef<int64_t> extents) = 0;
  /// Called when a loop ends, with the number of its iterations.
  virtual void onLoop(mlir::Operation *loop, int64_t iterations) = 0;
  /// Called for each evaluation of `scf.if` and `arith.select`.
  virtual void onChoice(mlir::Operation *op, bool condition) = 0;
  /// Called for each copy from or to a tensor, with the offset of its box and the sizes of the
  /// tensor.
  virtual void onCopy(mlir::Operation *copy, llvm::ArrayRef<int64_t> offsets,
                      llvm::ArrayRef<int64_t> sizes) = 0;
};

struct InterpretOptions {
  Completion completion = Completion::Eager;
  /// Decides, under Completion::Random, when asynchronous operations complete
  /// and in which order the elements of `tile.parallel` run.
  uint64_t seed = 0;
  /// The launch is given up with PS1404 after this many operations, where an
  /// operation on a tile counts once for each element it computes.
  uint64_t maxSteps = uint64_t(1) << 40;
  /// Receives each line that the kernel prints, with its end-of-line; empty:
  /// standard output.
  std::function<void(std::string_view)> print = {};
  LaunchObserver *observer = nullptr;
};

struct InterpretResult {
  /// Faults of the run, in order: the first fault of each
  /// kind at each operation, at most 100.
  std::vector<Diagnostic> faults;
  /// Operations that ran, counted as for maxSteps.
  uint64_t steps = 0;
};

/// Runs all blocks of the grid in the order of their numbers. The kernel must
/// have passed tile::verifyLanguage, in a context whose registry has the
/// interpreter's models. Arguments that do not fit the kernel are faults.
InterpretResult interpret(mlir::func::FuncOp kernel, llvm::ArrayRef<detail::Argument> arguments,
                          const InterpretOptions &options = {});

/// Teaches the operations of the language how to run.
void registerInterpreterModels(mlir::DialectRegistry &registry);

} // namespace penstock

#endif // PENSTOCK_INTERPRETER_INTERPRETER_H
