//===- IssuedBefore.h - Operations in flight when a loop starts -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_LOOP_ISSUEDBEFORE_H
#define PENSTOCK_ANALYSIS_LOOP_ISSUEDBEFORE_H

#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock {

struct IssuedBefore {
  tile::TileAccessOpInterface op;
  /// It runs in the same iteration of all loops around the loop that it precedes.
  bool sameIteration = true;
};

/// The asynchronous operations called \p name that may be under way when \p loop
/// starts: those that can run before it with no wait for all of them in between.
llvm::SmallVector<IssuedBefore> issuedBefore(mlir::scf::ForOp loop, mlir::StringAttr name);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_ISSUEDBEFORE_H
