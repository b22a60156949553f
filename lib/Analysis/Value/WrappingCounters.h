//===- WrappingCounters.h - Indices that count modulo a number --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_VALUE_WRAPPINGCOUNTERS_H
#define PENSTOCK_ANALYSIS_VALUE_WRAPPINGCOUNTERS_H

#include "mlir/IR/Value.h"

namespace penstock {

/// Returns whether \p value is one of 0 to \p limit - 1 because it counts modulo a number: a
/// remainder, or what a loop carries and wraps around, by induction over its iterations.
bool staysBelow(mlir::Value value, int64_t limit);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_VALUE_WRAPPINGCOUNTERS_H
