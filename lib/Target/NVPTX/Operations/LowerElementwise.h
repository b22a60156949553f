//===- LowerElementwise.h - Work of operations on tiles ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERELEMENTWISE_H
#define PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERELEMENTWISE_H

#include "Target/NVPTX/Threads/LoweringContext.h"

namespace penstock::nvptx {

/// Returns how the threads of a scope share the elements of an operation.
layout::Distribution workLayoutOf(LoweringContext &c, Operation *op, const ExecutionScope &by);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_LOWERELEMENTWISE_H
