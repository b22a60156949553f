//===- PassOrder.h - Passes whose order matters -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Phases order most passes of the GPU pipeline (Target/NVPTX/Phases/KernelPass.h). These rules
// order passes of one phase, and passes without a phase. benchmarks/pass-order shows that
// nothing else depends on the order: it compiles programs with each two neighbors
// swapped.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_PASSORDER_H
#define PENSTOCK_COMPILER_PASSORDER_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"

namespace penstock {

/// If a pipeline has both passes, \p first must come first.
struct OrderRule {
  llvm::StringLiteral first, second, reason;
};

llvm::ArrayRef<OrderRule> orderRules();

/// Returns the first rule that the passes of a pipeline, by name, break; null if there is none.
const OrderRule *brokenRule(llvm::ArrayRef<llvm::StringRef> passes);
const OrderRule *brokenRule(const mlir::OpPassManager &pipeline);

} // namespace penstock

#endif // PENSTOCK_COMPILER_PASSORDER_H
