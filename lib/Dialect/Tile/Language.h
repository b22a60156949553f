//===- Language.h - Operations allowed in a tile program --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_LANGUAGE_H
#define PENSTOCK_DIALECT_TILE_LANGUAGE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace penstock::tile {

/// Checks what no single operation can: that a module consists of the named
/// subset of upstream's operations and ours, that kernels have the form the
/// launch relies on, and that waits and asynchronous operations belong
/// together. Everything after this check may take it for granted.
mlir::LogicalResult verifyLanguage(mlir::ModuleOp module);

/// The same for one kernel.
mlir::LogicalResult verifyKernel(mlir::Operation *kernel);

/// Refuses schedules in the names of other tile languages, which nothing would read.
mlir::LogicalResult verifyScheduleNames(mlir::scf::ForOp loop);

/// A name that every later stage, down to symbols of object files, can carry.
bool isKernelName(llvm::StringRef name);

/// Checks text before it reaches MLIR's recursive parser, whose stack deep
/// nesting would overflow. Returns an empty string, or what is wrong and the
/// line.
struct NestingFault {
  unsigned line = 0; ///< 0: none
  std::string message;
};
NestingFault checkNesting(llvm::StringRef text);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_LANGUAGE_H
