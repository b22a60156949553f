//===- StoreMatrix.h - Stores of accumulators by stmatrix -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_MATRICES_STOREMATRIX_H
#define PENSTOCK_TARGET_NVPTX_MATRICES_STOREMATRIX_H

#include "Target/NVPTX/Threads/LoweringContext.h"

namespace penstock::nvptx {

/// Stores \p from to the target of \p op by stmatrix. Returns false, without emitting anything, if
/// the registers or the target do not have the instruction's layout.
bool storeMatrices(LoweringContext &c, tile::CopyOp op, RegisterTile &from,
                   const ExecutionScope &by);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_MATRICES_STOREMATRIX_H
