//===- KernelPass.h - Passes with a contract --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Base classes of the passes in Passes.td. Each pass declares the phase that it requires
// and the one that it produces (NVAttrs.td). The base class rejects a kernel in another
// phase, and in builds with assertions checks the result. Kernels without `nv.phase`, such
// as those of tests that run one pass, are not checked.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PHASES_KERNELPASS_H
#define PENSTOCK_TARGET_NVPTX_PHASES_KERNELPASS_H

#include "Dialect/NV/NVDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock::nvptx {

/// Checks that \p kernel has a target and, if it has a phase, that it is \p required.
mlir::LogicalResult enterPhase(mlir::func::FuncOp kernel, nv::Phase required, llvm::StringRef pass);

/// Marks \p kernel as being in phase \p produced, if it has a phase. In builds with assertions,
/// checks that it is.
mlir::LogicalResult leavePhase(mlir::func::FuncOp kernel, nv::Phase produced, llvm::StringRef pass);

/// Returns whether \p function is compiled from a tile program.
bool isTileProgram(mlir::func::FuncOp function);

/// Kernels that a pass changes. Others only change their phase.
enum class Changes { AllKernels, TilePrograms };

template <nv::Phase required, nv::Phase produced, Changes changes = Changes::AllKernels>
class KernelPass : public mlir::OperationPass<mlir::func::FuncOp> {
protected:
  using OperationPass::OperationPass;

  virtual void runOnKernel() = 0;

private:
  void runOnOperation() final {
    mlir::func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(tile::TileDialect::kernelAttr))
      return;
    if (failed(enterPhase(kernel, required, getArgument())))
      return signalPassFailure();
    if (changes == Changes::AllKernels || isTileProgram(kernel))
      runOnKernel();
    bool failedBefore = getPassState().irAndPassFailed.getInt();
    if (!failedBefore && failed(leavePhase(kernel, produced, getArgument())))
      signalPassFailure();
  }
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_PHASES_KERNELPASS_H
