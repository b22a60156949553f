//===- PrintLoops.cpp - The pass tile-print-loops -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/EngineCosts.h"
#include "Analysis/Loop/PipelineLoop.h"
#include "Analysis/Loop/TileMemory.h"
#include "Analysis/Passes.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Text/Text.h"

namespace penstock {
#define GEN_PASS_DEF_PRINTLOOPS
#include "Analysis/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct PrintLoops : penstock::impl::PrintLoopsBase<PrintLoops> {
  using PrintLoopsBase::PrintLoopsBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const hw::Architecture *architecture = nullptr;
    if (!arch.empty() && !(architecture = hw::findArchitecture(arch))) {
      tile::emitCoded(getOperation(), ToolUsage)
          << "unknown architecture `" << arch.getValue() << "`";
      return signalPassFailure();
    }
    getOperation().walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(tile::TileDialect::scheduleAttr))
        return;
      PipelineLoop body = analyzeLoop(loop);
      if (architecture) {
        assignCapacity(body, *architecture);
        assignCosts(body, *architecture);
      }
      llvm::errs() << sched::printInstance({body.problem, std::nullopt, std::nullopt});
    });
  }
};

} // namespace
