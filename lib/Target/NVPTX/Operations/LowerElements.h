//===- LowerElements.h - Single elements ------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERELEMENTS_H
#define PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERELEMENTS_H

#include "Target/NVPTX/Threads/LoweringContext.h"

namespace penstock::nvptx {

/// Checks the tile of a load, store or atomic: single elements are those of shared tiles and
/// tensors, and mutable scalars.
LogicalResult checkElementAccess(LoweringContext &c, Operation *op);

/// Loads an element; zero outside of the tile or tensor. \p operands are the indices of the access,
/// whose bounds may be known, and \p indices their values for the thread.
Value loadElement(LoweringContext &c, Value memref, mlir::ValueRange indices,
                  mlir::ValueRange operands);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERELEMENTS_H
