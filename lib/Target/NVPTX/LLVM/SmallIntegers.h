//===- SmallIntegers.h - Conversions of small integers to f32 ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LLVM_SMALLINTEGERS_H
#define PENSTOCK_TARGET_NVPTX_LLVM_SMALLINTEGERS_H

#include "mlir/IR/PatternMatch.h"

namespace penstock::nvptx {

/// Expands conversions to f32 of integers that are proven to be small: an instruction on bits and a
/// subtraction take half as long as a conversion, which executes at a quarter of the rate.
void populateSmallIntegerPatterns(mlir::RewritePatternSet &patterns);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LLVM_SMALLINTEGERS_H
