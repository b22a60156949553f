//===- KernelArchitecture.h - The GPU of a kernel ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_KERNELARCHITECTURE_H
#define PENSTOCK_TARGET_NVPTX_KERNELARCHITECTURE_H

#include "Dialect/NV/NVDialect.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Returns the architecture that nv-attach-target has written on \p kernel, or null: tests of later
/// passes may omit it.
inline const hw::Architecture *architectureOf(mlir::func::FuncOp kernel) {
  auto name = kernel->getAttrOfType<mlir::StringAttr>(nv::NVDialect::architectureAttr);
  return name ? hw::findArchitecture(name.str()) : nullptr;
}

/// Returns the architecture if TMA takes the rows of tensors of \p kernel, as launches guarantee,
/// or null.
inline const hw::Architecture *tmaOf(mlir::func::FuncOp kernel) {
  if (!kernel->hasAttr(nv::NVDialect::inOrderAttr) ||
      !kernel->hasAttr(nv::NVDialect::alignedRowsAttr))
    return nullptr;
  const hw::Architecture *architecture = architectureOf(kernel);
  return architecture && architecture->tma ? architecture : nullptr;
}

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_KERNELARCHITECTURE_H
