//===- Tensors.h - Addresses of elements of tensors -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_TENSORS_H
#define PENSTOCK_TARGET_NVPTX_THREADS_TENSORS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ValueRange.h"

#include <optional>

namespace penstock::nvptx {

struct LoweringContext;

using Extents = std::optional<llvm::ArrayRef<int64_t>>;

/// The dimension of a tensor along which the rows of a box lie.
inline size_t rowDim(size_t rank, Extents dims) { return dims ? size_t(dims->front()) : rank - 2; }
/// The dimension of a tensor along which extent \p i of the rows of a box lies.
inline size_t rowDim(size_t rank, Extents dims, llvm::ArrayRef<int64_t> rows, size_t i) {
  return dims ? size_t((*dims)[i]) : rank - 1 - rows.size() + i;
}

mlir::Value tensorSize(LoweringContext &c, mlir::Value tensor, unsigned dim);
mlir::Value sizeOf(LoweringContext &c, mlir::memref::DimOp op);

/// Returns whether an element lies inside of a tensor.
mlir::Value insideTensor(LoweringContext &c, mlir::Value tensor,
                         llvm::ArrayRef<mlir::Value> indices);

/// The address of an element of a tensor, from its indices in 32 bits; \p inRow is
/// a constant and added to the last one.
mlir::Value globalElement(LoweringContext &c, mlir::Value tensor,
                          llvm::ArrayRef<mlir::Value> indices, int64_t inRow = 0);

/// Returns whether an element of a box lies inside of the tensor, and its address. The
/// box begins at \p start; its dimensions run along \p dims of the tensor.
std::pair<mlir::Value, mlir::Value> tensorElement(LoweringContext &c, mlir::Value tensor,
                                                  mlir::ValueRange start,
                                                  llvm::ArrayRef<int64_t> dims, Extents rows,
                                                  llvm::ArrayRef<mlir::Value> at,
                                                  llvm::ArrayRef<int64_t> offset);

/// The coordinates of a row in the box that the rows of a tile are.
llvm::SmallVector<mlir::Value> inRows(LoweringContext &c, mlir::Value row,
                                      llvm::ArrayRef<int64_t> rows);

/// Requires of the launch that rows of a tensor are multiples of \p bytes.
void needRows(LoweringContext &c, mlir::Value tensor, unsigned bytes, unsigned multiple = 0);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_TENSORS_H
