//===- ExplainEngines.h - Engines of copies and MMAs ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_EXPLAINENGINES_H
#define PENSTOCK_EXPLAIN_EXPLAINENGINES_H

#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "penstock/inspect.h"

namespace penstock {

/// The engine of each product, and of each copy from a tensor, of a kernel as it is
/// emitted for \p architecture: one entry for each line of the source.
/// Lists the engines of a lowered kernel.
std::vector<EngineUse> listEngines(mlir::func::FuncOp kernel);

std::vector<EngineUse> enginesOf(mlir::ModuleOp module, const std::string &kernel,
                                 const hw::Architecture &architecture,
                                 std::vector<Diagnostic> &diagnostics);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_EXPLAINENGINES_H
