//===- VerifyPhase.cpp - The pass nv-verify-phase -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/Phases.h"

namespace penstock {
#define GEN_PASS_DEF_VERIFYPHASE
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct VerifyPhase : penstock::impl::VerifyPhaseBase<VerifyPhase> {
  using VerifyPhaseBase::VerifyPhaseBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(tile::TileDialect::kernelAttr))
      return;
    auto expected = nv::symbolizePhase(phase);
    if (!expected) {
      kernel.emitError() << "there is no phase `" << phase << "`";
      return signalPassFailure();
    }
    if (failed(nvptx::verifyPhase(kernel, *expected, after)) ||
        (*expected == nv::Phase::Bound &&
         failed(nvptx::verifySchedules(kernel, getAnalysis<PipelineLoops>(), after))))
      signalPassFailure();
  }
};

} // namespace
