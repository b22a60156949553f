//===- StartKernel.cpp - The pass nv-start-kernel -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Dialect/Tile/TileAccess.h"
#include "Target/NVPTX/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_STARTKERNEL
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct StartKernel : penstock::impl::StartKernelBase<StartKernel> {
  using StartKernelBase::StartKernelBase;

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(tile::TileDialect::kernelAttr))
      return;
    kernel->setAttr(
        nv::NVDialect::phaseAttr,
        nv::PhaseAttr::get(&getContext(), isExplicit ? nv::Phase::Ordered : nv::Phase::Tile));
    if (alignedRows)
      kernel->setAttr(nv::NVDialect::alignedRowsAttr, UnitAttr::get(&getContext()));
    if (kernel.walk([](tile::GemmOp gemm) { return checkOperands(gemm); }).wasInterrupted())
      signalPassFailure();
  }

  /// Interrupts at an operand that only CPUs have.
  static WalkResult checkOperands(tile::GemmOp gemm) {
    if (!gemm.isPacked() && !gemm.getUnsignedA())
      return WalkResult::advance();
    auto diagnostic = tile::emitCoded(gemm, CpuProduct);
    if (gemm.isPacked()) {
      diagnostic << "the packed operand " << tile::describe(gemm.getB())
                 << " of `gemm` is only supported on CPUs";
      tile::attachHelp(diagnostic) << "multiply by a two-dimensional tile";
    } else {
      diagnostic << "`unsigned_a` of `gemm` is only supported on CPUs";
      tile::attachHelp(diagnostic) << "subtract 128 from the operand, and correct the accumulator";
    }
    return WalkResult::interrupt();
  }
};

} // namespace
