//===- AffineOffsets.h - Offsets as functions of the iteration --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_LOOP_AFFINEOFFSETS_H
#define PENSTOCK_ANALYSIS_LOOP_AFFINEOFFSETS_H

#include "Analysis/Value/ValueRanges.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>
#include <optional>

namespace penstock {

/// scale * k + offset + a sum of values that do not change in the loop, where k
/// counts iterations from zero.
struct AffineOffset {
  int64_t scale = 0;
  int64_t offset = 0;
  /// By the value's address; coefficients that cancel are removed.
  std::map<void *, int64_t> invariants;
};

/// Values inside of the loop that are known, e.g. those of the variable of an inner
/// loop in one of its rounds.
using KnownValues = llvm::DenseMap<mlir::Value, int64_t>;

/// No value if the offset is not of that form.
std::optional<AffineOffset> affineOffset(mlir::OpFoldResult value, mlir::scf::ForOp loop,
                                         const KnownValues &known, ValueRanges &ranges);

/// No value if one of them has none.
std::optional<AffineOffset> sum(std::optional<AffineOffset> x, std::optional<AffineOffset> y);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_LOOP_AFFINEOFFSETS_H
