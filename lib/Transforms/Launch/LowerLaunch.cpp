//===- LowerLaunch.cpp - Per-launch and per-block code --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Transforms/Launch/GridCoordinates.h"
#include "Transforms/Launch/KernelAbi.h"
#include "Transforms/Launch/LaunchBuilder.h"
#include "Transforms/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERLAUNCH
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct LowerLaunch : penstock::impl::LowerLaunchBase<LowerLaunch> {
  using LowerLaunchBase::LowerLaunchBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(tile::TileDialect::kernelAttr) && failed(lower(kernel)))
        return signalPassFailure();
  }

  LogicalResult moveRequirements(func::FuncOp kernel, LaunchBuilder &launch) {
    SmallVector<tile::AssertOp> requirements;
    kernel.walk([&](tile::AssertOp op) { requirements.push_back(op); });
    for (tile::AssertOp op : requirements) {
      // Blocks check assertions that arguments alone do not determine.
      if (!isa<func::FuncOp>(op->getParentOp()) || !tile::isLaunchConstant(op.getCondition()).ok ||
          usesFloats(op.getCondition()))
        continue;
      launch.clone(op.getCondition());
      launch.builder.clone(*op, launch.mapping);
      op.erase();
    }
    return success();
  }

  LogicalResult lower(func::FuncOp kernel) {
    LaunchBuilder launch(kernel);
    // First: they may keep what follows from dividing by zero.
    if (requirements && failed(moveRequirements(kernel, launch)))
      return failure();
    OpBuilder builder(kernel.getContext());
    Block &body = kernel.getBody().front();
    Location loc = kernel.getLoc();
    Type extra[abi::NumExtra];
    extra[abi::Block] = builder.getIndexType();
    extra[abi::LaunchConstants] = LaunchBuilder::arrayType(builder);
    extra[abi::Scratch] = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    extra[abi::Context] = LLVM::LLVMPointerType::get(kernel.getContext());
    unsigned first = kernel.getNumArguments();
    for (Type type : extra)
      (void)kernel.insertArgument(kernel.getNumArguments(), type, {}, loc);
    Value block = body.getArgument(first + abi::Block);
    constants = body.getArgument(first + abi::LaunchConstants);

    tile::GridOp grid;
    kernel.walk([&](tile::GridOp op) { grid = op; });
    if (grid && !clusters)
      grid.removeClusterAttr();
    for (unsigned i = 0; i < abi::gridEntries; ++i)
      launch.store(grid && i < grid.getExtents().size()
                       ? wholeClusters(launch, grid, i)
                       : Value(arith::ConstantIndexOp::create(launch.builder, loc, 1)),
                   i);
    if (grid)
      lowerGrid(grid, block, launch);
    lowerDivisions(launch);
    kernel->setAttr(abi::packAttr, builder.getUnitAttr());
    launch.launch->setAttr(abi::packAttr, builder.getUnitAttr());
    kernel->setAttr(abi::launchSizeAttr, builder.getI64IntegerAttr(launch.numEntries));
    return success();
  }

  /// An extent of the grid, up to a multiple of the blocks of a cluster.
  static Value wholeClusters(LaunchBuilder &launch, tile::GridOp grid, unsigned dim) {
    Value extent = launch.clone(grid.getExtents()[dim]);
    int64_t along = grid.clusterAlong(dim);
    if (along == 1)
      return extent;
    OpBuilder &b = launch.builder;
    Location loc = grid.getLoc();
    Value one = arith::ConstantIndexOp::create(b, loc, along);
    Value rest = arith::RemSIOp::create(b, loc, extent, one);
    Value up = arith::AddIOp::create(b, loc, extent, arith::SubIOp::create(b, loc, one, rest));
    // A negative extent stays one, which a launch refuses.
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, rest, zero);
    return arith::SelectOp::create(b, loc, more, up, extent);
  }

  Value loadIndex(OpBuilder &b, Location loc, unsigned entry) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      loadLaunchConstant(b, loc, constants, entry));
  }

  /// Block numbers to coordinates.
  void lowerGrid(tile::GridOp grid, Value block, const LaunchBuilder &launch) {
    OpBuilder b(grid);
    Location loc = grid.getLoc();
    unsigned rank = grid.getNumResults();
    auto extentOf = [&](unsigned dim) {
      Value extent = loadIndex(b, loc, dim);
      int64_t along = grid.clusterAlong(dim);
      return along == 1
                 ? extent
                 : safeQuotient(b, loc, extent, arith::ConstantIndexOp::create(b, loc, along));
    };
    SmallVector<Value> extents;
    if (grid.getSwizzle() && isForGpu(launch.kernel))
      extents = extentsInClusters(b, grid); // of which the launch computes reciprocals
    for (unsigned dim = unsigned(extents.size()); dim < rank; ++dim)
      if (grid.getSwizzle() || dim + 1 < rank)
        extents.push_back(extentOf(dim));
      else
        extents.push_back(Value()); // not needed
    grid.replaceAllUsesWith(coordinatesOfBlock(b, grid, extents, block));
    grid.erase();
  }

  Value constants;
};

} // namespace
