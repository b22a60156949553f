//===- CheckBarriers.cpp - The pass nv-check-barriers ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelProtocol.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Pass/Pass.h"

namespace penstock {
#define GEN_PASS_DEF_CHECKBARRIERS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// More say the same in other words.
constexpr size_t mostFindings = 3;

struct CheckBarriersPass : penstock::impl::CheckBarriersBase<CheckBarriersPass> {
  using CheckBarriersBase::CheckBarriersBase;

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    markAllAnalysesPreserved();
    std::optional<ProtocolReport> found = checkProtocol(kernel);
    if (!found)
      return;
    for (size_t i = 0; i < std::min(found->findings.size(), mostFindings); ++i)
      tile::emit(kernel.getLoc(), found->findings[i]);
    if (!found->findings.empty())
      return signalPassFailure();
    if (found->unsupportedAt)
      tile::emit(found->unsupportedAt->getLoc(), unsupportedWarning(*found));
    else if (report)
      mlir::emitRemark(kernel.getLoc()) << describe(*found);
  }
};

} // namespace
