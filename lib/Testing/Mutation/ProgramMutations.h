//===- ProgramMutations.h - Small changes of tile programs ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mistakes that people make in kernels, one at a time: a statement is missing, another index
// variable or constant is used, a mask or comparison is different, operands are exchanged.
// Conditions of `b.require` and what is only printed are not changed: they do not affect
// results.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_MUTATION_PROGRAMMUTATIONS_H
#define PENSTOCK_TESTING_MUTATION_PROGRAMMUTATIONS_H

#include "Diagnostics/Diagnostic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <string>
#include <vector>

namespace penstock {

struct ProgramMutation {
  unsigned number = 0;   ///< of the operation, in pre-order
  std::string operation; ///< "copy", "addf"
  std::string change;    ///< "removed"
  SourceLocation source;
  /// Changes that operation, in any program with the same operations.
  std::function<void(mlir::Operation *)> apply;
};

/// Returns all mutations of a tile program, in its order.
std::vector<ProgramMutation> programMutationsOf(mlir::func::FuncOp kernel);

/// Applies a mutation. Returns false if the result is not a valid program.
bool applyMutation(mlir::func::FuncOp kernel, const ProgramMutation &mutation);

/// Returns the text of a program after canonicalization and common subexpression elimination:
/// programs with the same text are equivalent.
std::string canonicalText(mlir::ModuleOp module);

} // namespace penstock

#endif // PENSTOCK_TESTING_MUTATION_PROGRAMMUTATIONS_H
