//===- NonNegative.h - Values that cannot be negative -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_NEVERNEGATIVE_H
#define PENSTOCK_ANALYSIS_NEVERNEGATIVE_H

#include "mlir/IR/Value.h"

namespace penstock {

/// Whether a size or an offset is at least zero in every launch, as far as its
/// arithmetic shows. Numbers are taken to stay below 2^63.
bool isNonNegative(mlir::Value value);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_NEVERNEGATIVE_H
