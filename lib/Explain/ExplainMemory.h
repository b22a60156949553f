//===- ExplainMemory.h - Use of shared memory by tiles ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read off a kernel whose tiles have been placed.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_EXPLAINMEMORY_H
#define PENSTOCK_EXPLAIN_EXPLAINMEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace penstock {

/// Bytes that tiles take, which of them share memory, and bank conflicts of threads that move
/// tiles between registers and shared memory or from one layout to another.
/// Returns the bytes of shared memory that the tiles of a kernel occupy together.
int64_t sharedBytes(mlir::func::FuncOp kernel);

std::string explainMemory(mlir::func::FuncOp kernel);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_EXPLAINMEMORY_H
