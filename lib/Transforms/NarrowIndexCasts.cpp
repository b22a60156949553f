//===- NarrowIndexCasts.cpp - Narrow indices by way of i64 ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace penstock {
#define GEN_PASS_DEF_NARROWINDEXCASTS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct NarrowIndexCasts : penstock::impl::NarrowIndexCastsBase<NarrowIndexCasts> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::IndexCastOp>(op))
        split<arith::IndexCastOp>(op);
      else if (isa<arith::IndexCastUIOp>(op))
        split<arith::IndexCastUIOp>(op);
    });
  }

  template <typename Cast> static void split(Operation *op) {
    Type narrow = op->getResult(0).getType();
    if (narrow.isIndex() || narrow.getIntOrFloatBitWidth() >= 64)
      return;
    OpBuilder b(op);
    Value wide = Cast::create(b, op->getLoc(), b.getI64Type(), op->getOperand(0));
    op->getResult(0).replaceAllUsesWith(
        arith::TruncIOp::create(b, op->getLoc(), narrow, wide).getResult());
    op->erase();
  }
};

} // namespace
