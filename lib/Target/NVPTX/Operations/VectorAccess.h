//===- VectorAccess.h - Accesses to tensors of up to 16 bytes ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_OPERATIONS_VECTORACCESS_H
#define PENSTOCK_TARGET_NVPTX_OPERATIONS_VECTORACCESS_H

#include "Target/NVPTX/Threads/LoweringContext.h"

namespace penstock::nvptx {

/// Loads an element of a tensor if \p inside holds, otherwise zero.
Value loadInside(LoweringContext &c, Value inside, Value address, mlir::Type element);
void storeInside(LoweringContext &c, Value inside, Value address, Value value);

/// The same for several elements of a row.
llvm::SmallVector<Value> loadVector(LoweringContext &c, Value inside, Value address,
                                    mlir::Type element, int64_t count);
void storeVector(LoweringContext &c, Value inside, Value address, llvm::ArrayRef<Value> values);

/// Returns the number of elements of a tensor, at most 16 bytes, that a thread can access
/// together.
int64_t vectorOfTensor(Value tensor, llvm::ArrayRef<int64_t> dims,
                       const layout::Distribution &layout);

/// The bytes of an element.
int64_t bytesInTensor(Value tensor);

/// Returns whether groups of \p vector elements of a box are aligned, and none is partly inside
/// of the tensor. The box has \p extent elements along a row.
Value rowsAreAligned(LoweringContext &c, Value tensor, mlir::ValueRange start, int64_t extent,
                     int64_t vector);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_VECTORACCESS_H
