//===- ValueRanges.h - Ranges of integers -----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets may be computed in i8, i16 or i32, whose arithmetic wraps around. An
// analysis that follows offsets as sums and products must know where it does.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_VALUE_VALUERANGES_H
#define PENSTOCK_ANALYSIS_VALUE_VALUERANGES_H

#include "mlir/IR/Operation.h"

#include <memory>

namespace mlir {
class DataFlowSolver;
class ConstantIntRanges;
} // namespace mlir

namespace penstock {

/// Ranges of the integers of a function by upstream's IntegerRangeAnalysis, which
/// runs when a narrow integer is first asked for: most kernels have none.
class ValueRanges {
public:
  /// \p op may be anything inside of the function.
  explicit ValueRanges(mlir::Operation *op);
  ~ValueRanges();

  /// Returns whether a cast, sum, difference or product never overflows: its result equals the
  /// result in unbounded signed integers.
  bool isExact(mlir::Operation *op);

private:
  const mlir::ConstantIntRanges *rangeOf(mlir::Value value);
  bool fits(mlir::Value value, unsigned width);

  mlir::Operation *function;
  std::unique_ptr<mlir::DataFlowSolver> solver;
};

/// Returns whether a size or an offset is at least zero in every launch, as far as its arithmetic
/// shows. Sizes and offsets in 64 bits are assumed to stay below 2^63, which upstream's range
/// analysis cannot assume: for it, a product of two extents may be negative.
bool isNonNegative(mlir::Value value);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_VALUE_VALUERANGES_H
