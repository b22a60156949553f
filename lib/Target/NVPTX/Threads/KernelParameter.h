//===- KernelParameter.h - Values that a launch passes ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_KERNELPARAMETER_H
#define PENSTOCK_TARGET_NVPTX_THREADS_KERNELPARAMETER_H

#include "Runtime/DeviceKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace penstock::nvptx {

struct LoweringContext;

/// The kernel's only parameter, a struct of fields.
struct KernelParameter {
  mlir::Value address;                        ///< !llvm.ptr
  llvm::DenseMap<size_t, mlir::Value> loaded; ///< by the number of a field
};

/// Translates the function that a launch evaluates to steps of the result.
mlir::LogicalResult readLaunch(mlir::func::FuncOp launch, DeviceKernel &result);

/// Assigns an offset to each field.
void layOutParameter(LoweringContext &c);

/// Loads a field.
mlir::Value parameter(LoweringContext &c, ParameterField::Kind kind, unsigned index,
                      unsigned dim = 0);

/// Prefetches the tensor maps of the lowered kernel where its barriers are initialized: the first
/// copy with a map would read it from global memory.
void prefetchTensorMaps(LoweringContext &c);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_KERNELPARAMETER_H
