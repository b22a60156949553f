//===- DoubleMath.h - Functions of f64 by arithmetic ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LLVM_DOUBLEMATH_H
#define PENSTOCK_TARGET_NVPTX_LLVM_DOUBLEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace penstock::nvptx {

/// Expands exp, exp2, log, log2, tanh, erf, sin and cos of f64, and remainders, to arithmetic.
void populateDoubleMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LLVM_DOUBLEMATH_H
