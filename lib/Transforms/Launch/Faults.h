//===- Faults.h - The list of a module's faults ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LAUNCH_FAULTS_H
#define PENSTOCK_TRANSFORMS_LAUNCH_FAULTS_H

#include "mlir/IR/BuiltinOps.h"
#include "penstock/diagnostics.h"

namespace penstock {

/// The faults that tile-guard-faults wrote to a module, in the order of the numbers
/// by which generated code reports them.
std::vector<Diagnostic> faultsOf(mlir::ModuleOp module);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_LAUNCH_FAULTS_H
