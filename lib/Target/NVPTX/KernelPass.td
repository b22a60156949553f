//===- KernelPass.td - Passes with a contract --------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_KERNELPASS
#define PENSTOCK_TARGET_NVPTX_KERNELPASS

include "mlir/Pass/PassBase.td"

/// A pass that requires kernels in one phase and produces them in another or the same one
/// (enumerators of nv::Phase). KernelPass.h checks both.
class KernelPass<string argument, string required, string produced, string kernels = "AllKernels">
    : PassBase<argument, "::penstock::nvptx::KernelPass<::penstock::nv::Phase::" # required #
                             ", ::penstock::nv::Phase::" # produced #
                             ", ::penstock::nvptx::Changes::" # kernels # ">"> {
  string requiredPhase = required;
  string producedPhase = produced;
}

/// A pass that leaves explicit kernels as they are.
class TileProgramPass<string argument, string required, string produced>
    : KernelPass<argument, required, produced, "TilePrograms">;

#endif // PENSTOCK_TARGET_NVPTX_KERNELPASS
