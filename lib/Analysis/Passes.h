//===- Passes.h - Passes that print analyses --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_ANALYSIS_PASSES_H
#define PENSTOCK_ANALYSIS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock {

#define GEN_PASS_DECL
#include "Analysis/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Analysis/Passes.h.inc"

} // namespace penstock

#endif // PENSTOCK_ANALYSIS_PASSES_H
