//===- RegisterPool.h - Registers that warpgroups pass ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PLANS_REGISTERPOOL_H
#define PENSTOCK_TARGET_NVPTX_PLANS_REGISTERPOOL_H

#include "Hardware/Architecture.h"
#include "Runtime/DeviceKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Checks requests for registers, and sets the number of registers that a thread starts with.
mlir::LogicalResult shareRegisters(mlir::func::FuncOp kernel, const hw::Architecture &architecture,
                                   DeviceKernel &result);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PLANS_REGISTERPOOL_H
