//===- AllowContraction.cpp - Products may be fused with sums -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace penstock {
#define GEN_PASS_DEF_ALLOWCONTRACTION
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct AllowContraction : penstock::impl::AllowContractionBase<AllowContraction> {
  void runOnOperation() override {
    getOperation()->walk([](arith::ArithFastMathInterface op) {
      if (!isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op))
        return;
      arith::FastMathFlags flags = op.getFastMathFlagsAttr().getValue();
      op->setAttr(
          op.getFastMathAttrName(),
          arith::FastMathFlagsAttr::get(op->getContext(), flags | arith::FastMathFlags::contract));
    });
    getOperation()->walk([](tile::ReduceOp op) {
      if (op.getKind() == tile::ReduceKind::Sum)
        op->setAttr(tile::TileDialect::contractAttr, UnitAttr::get(op.getContext()));
    });
  }
};

} // namespace
