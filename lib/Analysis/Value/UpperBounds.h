//===- UpperBounds.h - Bounds of integers from 0 upward ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_VALUE_UPPERBOUNDS_H
#define PENSTOCK_ANALYSIS_VALUE_UPPERBOUNDS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <optional>

namespace penstock {

/// Proves that integers lie between 0 and a bound, in arithmetic that wraps around. Unlike
/// `isNonNegative` (ValueRanges.h), it assumes nothing about products: it is right for hashes, too.
class UpperBounds {
public:
  /// \p mostOfSize: bound on the extents of tensors that launches check.
  explicit UpperBounds(int64_t mostOfSize) : mostOfSize(mostOfSize) {}

  /// States that \p value lies between 0 and \p most.
  void assume(mlir::Value value, int64_t most) { known[value] = most; }

  /// Returns a number m such that 0 <= value <= m in every launch; none if that is not proven.
  std::optional<int64_t> mostOf(mlir::Value value);

private:
  std::optional<int64_t> derive(mlir::Value value);

  int64_t mostOfSize;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> known;
};

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_VALUE_UPPERBOUNDS_H
