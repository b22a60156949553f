//===- PrintValues.cpp - The pass tile-print-values -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/AffineOffsets.h"
#include "Analysis/Passes.h"
#include "Analysis/Value/ValueRanges.h"
#include "Analysis/Value/WrappingCounters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace penstock {
#define GEN_PASS_DEF_PRINTVALUES
#include "Analysis/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// "64 * k + 3 + 2 invariants"
std::string textOf(const AffineOffset &offset) {
  std::string text;
  auto add = [&](const std::string &term) { text += (text.empty() ? "" : " + ") + term; };
  if (offset.scale)
    add(std::to_string(offset.scale) + " * k");
  if (offset.offset || (!offset.scale && offset.invariants.empty()))
    add(std::to_string(offset.offset));
  if (size_t count = offset.invariants.size())
    add(std::to_string(count) + (count == 1 ? " invariant" : " invariants"));
  return text;
}

struct PrintValues : penstock::impl::PrintValuesBase<PrintValues> {
  using PrintValuesBase::PrintValuesBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    ValueRanges ranges(getOperation());
    getOperation().walk([&](Operation *op) {
      if (op->getNumResults() != 1 || isa<arith::ConstantOp>(op))
        return;
      Value value = op->getResult(0);
      SmallVector<std::string> facts;
      if (value.getType().isIndex()) {
        if (isNonNegative(value))
          facts.push_back("non-negative");
        if (staysBelow(value, limit))
          facts.push_back("below " + std::to_string(limit));
        if (auto loop = op->getParentOfType<scf::ForOp>())
          if (auto offset = affineOffset(value, loop, KnownValues(), ranges))
            facts.push_back(textOf(*offset));
      } else if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp>(op)) {
        facts.push_back(ranges.isExact(op) ? "exact" : "may wrap");
      }
      if (!facts.empty())
        op->emitRemark(llvm::join(facts, "; "));
    });
  }
};

} // namespace
