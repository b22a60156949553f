//===- ExplainMemory.h - How tiles use shared memory ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read off a kernel whose tiles have been placed.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_EXPLAINMEMORY_H
#define PENSTOCK_COMPILER_EXPLAINMEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace penstock {

/// Bytes that tiles take, which of them share memory, and bank conflicts of threads that move
/// tiles between registers and shared memory or from one layout to another.
std::string explainMemory(mlir::func::FuncOp kernel);

} // namespace penstock

#endif // PENSTOCK_COMPILER_EXPLAINMEMORY_H
