//===- StepCosts.h - Costs of a kernel's steps ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_KERNEL_STEPCOSTS_H
#define PENSTOCK_ANALYSIS_KERNEL_STEPCOSTS_H

#include "Timing/ProtocolTimes.h"
#include "mlir/IR/Operation.h"

namespace penstock {

/// Bytes, products and cycles of an operation of an explicit kernel.
timing::StepCost stepCost(mlir::Operation *op, const hw::Chip &chip);

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_KERNEL_STEPCOSTS_H
