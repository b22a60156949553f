//===- KernelArchitecture.h - The GPU of a kernel ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PHASES_KERNELARCHITECTURE_H
#define PENSTOCK_TARGET_NVPTX_PHASES_KERNELARCHITECTURE_H

#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/Target.h"

namespace penstock::nvptx {

/// Returns the architecture of a kernel inside of a pipeline for GPUs: its passes require
/// `tile.target` (enterPhase).
inline const hw::Architecture &architectureOf(mlir::func::FuncOp kernel) {
  const hw::Architecture *architecture = tile::targetOf(kernel);
  assert(architecture && "a kernel without `tile.target` in a pipeline for GPUs");
  return *architecture;
}

/// Returns the architecture if TMA takes the rows of tensors of \p kernel, as launches guarantee,
/// or null.
inline const hw::Architecture *tmaOf(mlir::func::FuncOp kernel) {
  if (!kernel->hasAttr(nv::NVDialect::tileProgramAttr) ||
      !kernel->hasAttr(nv::NVDialect::alignedRowsAttr))
    return nullptr;
  const hw::Architecture &architecture = architectureOf(kernel);
  return architecture.tma ? &architecture : nullptr;
}

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PHASES_KERNELARCHITECTURE_H
