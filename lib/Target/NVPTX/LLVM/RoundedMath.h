//===- RoundedMath.h - Correctly rounded functions of f32 -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_LLVM_ROUNDEDMATH_H
#define PENSTOCK_TARGET_NVPTX_LLVM_ROUNDEDMATH_H

#include "mlir/IR/PatternMatch.h"

namespace penstock::nvptx {

/// Expands divisions and square roots of f16 and f32 to sequences without calls.
void populateRoundedMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_LLVM_ROUNDEDMATH_H
