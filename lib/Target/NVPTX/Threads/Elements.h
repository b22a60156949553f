//===- Elements.h - Elements in memory and in registers ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_ELEMENTS_H
#define PENSTOCK_TARGET_NVPTX_THREADS_ELEMENTS_H

#include "Target/NVPTX/Threads/ThreadBuilder.h"

namespace penstock::nvptx {

/// Returns the storage type in memory and registers: bytes for 8-bit floating-point numbers and
/// truth values.
mlir::Type storedAs(mlir::Type element);

/// The type of the elements of a tile or tensor.
mlir::Type elementOf(mlir::Value memref);

/// The value as an element of type \p to.
mlir::Value converted(ThreadBuilder &c, mlir::Value value, mlir::Type to);
mlir::Value fromStored(ThreadBuilder &c, mlir::Value value, mlir::Type element);
mlir::Value toStored(ThreadBuilder &c, mlir::Value value);

/// Loads neighbors from shared memory. \p aligned: the address is that of this number of
/// neighbors, which LLVM may load at once.
llvm::SmallVector<mlir::Value> loadShared(ThreadBuilder &c, mlir::Value address, mlir::Type element,
                                          int64_t count, int64_t aligned = 1);
void storeShared(ThreadBuilder &c, mlir::Value address, llvm::ArrayRef<mlir::Value> elements);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_ELEMENTS_H
