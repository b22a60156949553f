//===- UnrollLoops.cpp - Unroll loops as they ask -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Passes.h"
#include "Transforms/Pipeline/PeriodicVariables.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

namespace penstock {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

constexpr int64_t maxFullUnroll = 1024;

struct UnrollLoops : penstock::impl::UnrollLoopsBase<UnrollLoops> {
  void runOnOperation() override {
    // Innermost first, so that copies made by an outer loop are final.
    SmallVector<scf::ForOp> loops;
    getOperation().walk<WalkOrder::PostOrder>([&](scf::ForOp loop) {
      if (loop->hasAttr(tile::TileDialect::unrollAttr))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      if (failed(unroll(loop)))
        return signalPassFailure();
  }

  LogicalResult unroll(scf::ForOp loop) {
    auto factor = loop->getAttrOfType<IntegerAttr>(tile::TileDialect::unrollAttr).getInt();
    loop->removeAttr(tile::TileDialect::unrollAttr);
    if (factor == 1)
      return success();
    if (factor == 0) {
      auto count = loop.getStaticTripCount();
      if (!count || count->getSExtValue() > maxFullUnroll)
        return tile::emitCoded(loop, UnrollFactor)
               << "a loop can only be unrolled fully if its trip count is a "
                  "constant of at most "
               << maxFullUnroll;
      // A loop that never runs has nothing to unroll and is gone.
      if (count->isZero()) {
        loop.erase();
        return success();
      }
      return loopUnrollFull(loop);
    }
    // Upstream counts iterations as (upper - lower) / step, rounded up, and
    // takes that for not negative. A step that is only known when the kernel
    // runs may be a fault; such a loop stays as it is.
    if (!getConstantIntValue(loop.getStep())) {
      InFlightDiagnostic warning = tile::warnCoded(loop.getLoc(), UnrollFactor);
      warning << "this loop is not unrolled, because its step is only known when the kernel runs";
      tile::attachHelp(warning)
          << "count iterations with a step of 1, and multiply by the step in the body";
      return success();
    }
    // It also takes a count that it can tell for a sign of constant bounds.
    if (!loop.getStaticTripCount() || !getConstantIntValue(loop.getLowerBound()) ||
        !getConstantIntValue(loop.getUpperBound())) {
      OpBuilder b(loop);
      loop.setUpperBound(
          arith::MaxSIOp::create(b, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound()));
    }
    SmallVector<PeriodicVariable> periodic = periodicVariables(loop, uint64_t(factor));
    auto unrolled = loopUnrollByFactor(loop, uint64_t(factor));
    if (failed(unrolled))
      return failure();
    // Slots of rings are constants in each copy then.
    if (unrolled->mainLoopOp)
      for (auto [variable, value] : periodic) {
        OpBuilder b = OpBuilder::atBlockBegin(unrolled->mainLoopOp->getBody());
        Value constant = arith::ConstantOp::create(b, variable.getLoc(), value);
        tile::StoreOp::create(b, variable.getLoc(), constant, variable, ValueRange());
      }
    return success();
  }
};

} // namespace
