//===- SingleMath.h - Functions of f32 by few instructions ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LLVM_SINGLEMATH_H
#define PENSTOCK_TARGET_NVPTX_LLVM_SINGLEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace penstock::nvptx {

/// Expands exp, exp2, tanh and erf of f32 to instructions of the hardware.
void populateSingleMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LLVM_SINGLEMATH_H
