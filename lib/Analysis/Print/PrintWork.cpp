//===- PrintWork.cpp - The pass nv-print-work -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/StepCosts.h"
#include "Analysis/Passes.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "llvm/Support/Format.h"

namespace penstock {
#define GEN_PASS_DEF_PRINTWORK
#include "Analysis/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Without decimals that are zero.
std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", value);
  return text;
}

std::string textOf(const timing::StepCost &cost) {
  const timing::Op &work = cost.work;
  std::string text;
  if (work.engine == timing::Engine::Tma)
    text = (work.byThreads ? "threads: " : "TMA: ") + number(work.bytes) + " bytes in " +
           number(work.rows) + " rows, " + number(work.copies) + " copies";
  else if (work.engine == timing::Engine::Tensor)
    text = "tensor core: " + number(work.products) + " products of " + number(work.productCycles) +
           " cycles";
  else if (work.cycles > 0 || cost.exponentialCycles > 0)
    text = "threads: " + number(work.cycles) + " cycles, exponentials " +
           number(cost.exponentialCycles);
  if (cost.receivers > 1)
    text += ", to " + std::to_string(cost.receivers) + " blocks";
  return text;
}

struct PrintWork : penstock::impl::PrintWorkBase<PrintWork> {
  using PrintWorkBase::PrintWorkBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const hw::Chip *known = hw::findChip(chip.getValue());
    if (!known) {
      tile::emitCoded(getOperation(), ToolUsage) << "unknown chip `" << chip.getValue() << "`";
      return signalPassFailure();
    }
    if (!getOperation()->hasAttr(nv::NVDialect::threadsAttr))
      return;
    getOperation().walk([&](Operation *op) {
      std::string text = textOf(stepCost(op, *known));
      if (!text.empty())
        op->emitRemark(text);
    });
  }
};

} // namespace
