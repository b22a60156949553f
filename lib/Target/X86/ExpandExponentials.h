//===- ExpandExponentials.h - exp and exp2 that vectorize -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_EXPANDEXPONENTIALS_H
#define PENSTOCK_TARGET_X86_EXPANDEXPONENTIALS_H

#include "mlir/IR/PatternMatch.h"

namespace penstock {

/// math.exp and math.exp2 of f32 as arithmetic, within 2 units in the last
/// place, subnormal results, infinities and NaN included. A call to libm would
/// keep the loop around it from being vectorized, and attention spends its time
/// there.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_EXPANDEXPONENTIALS_H
