//===- Target.h - Architecture that a kernel is compiled for ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_TARGET_H
#define PENSTOCK_DIALECT_TILE_TARGET_H

#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::tile {

/// Returns the architecture that `tile.target` names on \p kernel; null before a pipeline has
/// chosen one.
const hw::Architecture *targetOf(mlir::func::FuncOp kernel);

/// Writes `tile.target`.
void setTarget(mlir::func::FuncOp kernel, llvm::StringRef architecture);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_TARGET_H
