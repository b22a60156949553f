//===- TakeOverBlocks.cpp - The pass nv-take-over-blocks ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between two blocks, an SM idles until the next block has started and filled its rings.
// With cluster launch control (Blackwell), a running block claims pending blocks instead.
// A kernel with one tile per block becomes persistent, without a loop over tiles in the
// program: its rings stay live, and the epilogue of a tile overlaps the next tile's MMAs.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock {
#define GEN_PASS_DEF_TAKEOVERBLOCKS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// The operations of a kernel that each block executes for its coordinates: all that has effects,
/// and what follows from these. Allocations and requirements stay in front.
SmallVector<Operation *> workOf(func::FuncOp kernel, tile::GridOp grid) {
  SmallVector<Operation *> work;
  llvm::DenseSet<Value> ofBlock(llvm::from_range, grid.getCoordinates());
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<tile::GridOp, tile::AllocOp>(op))
      continue;
    bool depends =
        llvm::any_of(op.getOperands(), [&](Value operand) { return ofBlock.contains(operand); });
    if (!depends && (isPure(&op) || isa<tile::AssertOp>(op)))
      continue;
    work.push_back(&op);
    ofBlock.insert_range(op.getResults());
  }
  return work;
}

struct TakeOverBlocks : penstock::impl::TakeOverBlocksBase<TakeOverBlocks> {
  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    tile::GridOp grid;
    kernel.walk([&](tile::GridOp op) { grid = op; });
    if (!grid || !grid.getLaunchControl() || !nvptx::architectureOf(kernel).limits.tensorColumns)
      return;
    SmallVector<Operation *> work = workOf(kernel, grid);
    OpBuilder b(kernel.getBody().front().getTerminator());
    Location loc = grid.getLoc();
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value one = arith::ConstantIndexOp::create(b, loc, 1), blocks = one;
    for (Value extent : grid.getExtents())
      blocks = arith::MulIOp::create(b, loc, blocks, extent);
    auto rounds = scf::ForOp::create(b, loc, zero, blocks, one);
    rounds->setAttr(nv::NVDialect::takesOverAttr, b.getUnitAttr());
    b.setInsertionPointToStart(rounds.getBody());
    SmallVector<Type> types(1, b.getI1Type());
    llvm::append_range(types, grid.getResultTypes());
    auto taken =
        nv::ClcWorkOp::create(b, loc, types, rounds.getInductionVar(), grid.getCoordinates());
    auto granted = scf::IfOp::create(b, loc, taken.getGranted(), /*withElseRegion=*/false);
    for (Operation *op : work)
      op->moveBefore(granted.thenBlock()->getTerminator());
    for (auto [own, coordinate] : llvm::zip_equal(grid.getCoordinates(), taken.getCoordinates()))
      own.replaceUsesWithIf(
          coordinate, [&](OpOperand &use) { return granted->isProperAncestor(use.getOwner()); });
  }
};

} // namespace
