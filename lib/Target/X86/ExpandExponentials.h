//===- ExpandExponentials.h - exp, erf and tanh that vectorize --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_EXPANDEXPONENTIALS_H
#define PENSTOCK_TARGET_X86_EXPANDEXPONENTIALS_H

#include "mlir/IR/PatternMatch.h"

namespace penstock {

/// Expands exp, exp2, erf and tanh of f32 to arithmetic, subnormal results, infinities
/// and NaN included; docs/reference/numerics.md states the errors. A call to libm would keep the
/// loop around it from being vectorized, and attention spends its time there. With \p scales
/// the target has an instruction that multiplies by powers of 2 (AVX-512).
void populateExponentialPatterns(mlir::RewritePatternSet &patterns, bool scales);

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_EXPANDEXPONENTIALS_H
