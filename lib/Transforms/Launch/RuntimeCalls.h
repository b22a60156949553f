//===- RuntimeCalls.h - Calls from generated code to the runtime -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LAUNCH_RUNTIMECALLS_H
#define PENSTOCK_TRANSFORMS_LAUNCH_RUNTIMECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace penstock {

/// Calls \p name with the runtime's handle and \p arguments, and declares it in
/// the module if needed. The handle is the last argument of the enclosing
/// function.
void callRuntime(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                 mlir::ValueRange arguments);

/// The handle of the runtime in the function around the insertion point.
mlir::Value runtimeHandle(mlir::OpBuilder &builder);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_LAUNCH_RUNTIMECALLS_H
