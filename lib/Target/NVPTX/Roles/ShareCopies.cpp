//===- ShareCopies.cpp - The pass nv-share-copies -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adjacent blocks of a grid load common boxes; in a matmul, the blocks of one grid row
// load the same rows of A. Within a cluster, each block loads a slice and TMA multicasts
// it. The grid is padded to whole clusters: padding blocks load for the others and must
// have no side effects.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/PipelineLoop.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Plans/ConfineThreads.h"
#include "Target/NVPTX/Roles/ClusterShares.h"
#include "Target/NVPTX/Roles/PairedProduct.h"

namespace penstock {
#define GEN_PASS_DEF_SHARECOPIES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

bool isTensor(Value memref) {
  return tile::spaceOf(cast<MemRefType>(memref.getType())) == tile::Space::Global;
}

/// Returns whether \p op, or an operation in it, is such a one.
template <typename Fn> bool holds(Operation *op, Fn isSuch) {
  return op
      ->walk([&](Operation *inner) {
        return isSuch(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

class Sharing {
public:
  Sharing(func::FuncOp kernel, tile::GridOp grid)
      : kernel(kernel), grid(grid), replication(kernel), body(&kernel.getBody().front()),
        coordinates(grid.getCoordinates()) {
    // Of blocks that are taken over.
    kernel.walk([&](nv::ClcWorkOp work) {
      body = work->getBlock();
      coordinates = work.getCoordinates();
      for (Operation *user : work.getGranted().getUsers())
        if (auto granted = dyn_cast<scf::IfOp>(user))
          body = granted.thenBlock();
    });
  }

  /// Marks copies that the blocks of a cluster share. Returns why there are none; empty if there
  /// are.
  std::string run() {
    kernel.walk([&](scf::ForOp loop) {
      if (loop->hasAttr(tile::TileDialect::scheduleAttr) && holds(loop, isLoaded))
        loops.insert(loop);
    });
    if (loops.empty())
      return "no pipelined loop has a warp of its own that loads by TMA";
    if (StringRef why = obstacle(); !why.empty())
      return why.str();
    bool any = false;
    for (Operation *loop : loops)
      loop->walk([&](tile::CopyOp copy) { any |= isLoaded(copy) && mark(copy); });
    if (!any)
      return "the blocks of a cluster have no copies in common";
    std::string unpaired = grid.getPair() ? nvptx::pairBlocks(kernel) : "";
    if (!unpaired.empty())
      kernel->setAttr(nv::NVDialect::noPairAttr, StringAttr::get(kernel.getContext(), unpaired));
    if (isRoundedUp())
      guardEffects();
    OpBuilder b(kernel.getBody().front().getTerminator());
    // No block ends while others may write to its memory.
    nv::ClusterSyncOp::create(b, grid.getLoc());
    int64_t blocks = 1;
    for (unsigned dim = 0; dim < grid.getNumResults(); ++dim)
      blocks *= grid.clusterAlong(dim);
    kernel->setAttr(nv::NVDialect::clusterAttr, b.getI64IntegerAttr(blocks));
    return {};
  }

private:
  static bool isLoaded(Operation *op) {
    return op->hasAttr(nv::NVDialect::roleAttr) && isa<tile::CopyOp>(op) &&
           nvptx::engineOf(op) == sched::Engine::TmaLoad;
  }

  /// Returns whether a value, or the control flow that computes it, may differ from block to block
  /// along an extent of the grid.
  bool differs(Value value, unsigned dim) {
    if (!replication.isReplicable(value))
      return true;
    SmallVector<Value> work = {value};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      if (next == coordinates[dim] || next == grid.getCoordinates()[dim])
        return true;
      if (auto argument = dyn_cast<BlockArgument>(next)) {
        if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
          work.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
      } else if (!isa<tile::GridOp, nv::ClcWorkOp>(next.getDefiningOp())) {
        llvm::append_range(work, next.getDefiningOp()->getOperands());
      }
    }
    return false;
  }
  bool differsInCluster(Value value) {
    return llvm::any_of(llvm::seq(grid.getNumResults()), [&](unsigned dim) {
      return grid.clusterAlong(dim) > 1 && differs(value, dim);
    });
  }

  /// Returns whether clusters may have blocks beyond the end of the grid.
  bool isRoundedUp() {
    return llvm::any_of(llvm::seq(grid.getNumResults()), [&](unsigned dim) {
      auto extent = getConstantIntValue(grid.getExtents()[dim]);
      int64_t blocks = grid.clusterAlong(dim);
      return blocks > 1 && (!extent || *extent % blocks != 0);
    });
  }

  /// Returns whether an operation may stop with a fault in one block of a cluster and not in
  /// another one.
  bool mayFault(Operation *op) {
    auto anyDiffers = [&](ValueRange values) {
      return llvm::any_of(values, [&](Value value) { return differsInCluster(value); });
    };
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return isTensor(load.getSource()) && anyDiffers(load.getIndices());
    if (auto view = dyn_cast<memref::SubViewOp>(op))
      return anyDiffers(view.getOffsets());
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
            arith::FloorDivSIOp>(op))
      return anyDiffers(op->getOperand(1));
    return isa<tile::AssertOp>(op) && anyDiffers(op->getOperands());
  }
  /// Returns whether an operation may change something outside of its block.
  static bool writesOutside(Operation *op) {
    if (isa<tile::PrintOp>(op))
      return true;
    auto accessing = dyn_cast<tile::TileAccessOpInterface>(op);
    SmallVector<tile::TileAccess> accesses;
    if (accessing)
      accessing.getAccesses(accesses);
    return llvm::any_of(accesses, [](const tile::TileAccess &access) {
      return (access.writes || access.atomic) && isTensor(access.memref);
    });
  }
  bool hasEffect(Operation *op) {
    return holds(op, [&](Operation *inner) { return writesOutside(inner) || mayFault(inner); });
  }

  /// An obstacle to executing the loops of all blocks of a cluster in step; empty if there is none.
  StringRef obstacle() {
    for (Operation *loop : loops) {
      for (Operation *op = loop; op != kernel; op = op->getParentOp())
        if (llvm::any_of(op->getOperands(), [&](Value value) { return differsInCluster(value); }))
          return "a loop, or a condition around it, differs between the blocks of a cluster";
      bool differ = false;
      loop->walk([&](tile::CopyOp copy) {
        for (Operation *op = copy->getParentOp(); isLoaded(copy) && op != loop;
             op = op->getParentOp())
          differ |=
              llvm::any_of(op->getOperands(), [&](Value value) { return differsInCluster(value); });
      });
      if (differ)
        return "a copy is under a condition that differs between the blocks of a cluster";
    }
    for (Operation &op : *body) {
      if (!isRoundedUp())
        break;
      bool around = llvm::any_of(loops, [&](Operation *loop) { return op.isAncestor(loop); });
      if ((around || !op.use_empty()) && hasEffect(&op))
        return "blocks beyond the end of the grid, which load for others, would have effects of "
               "their own";
    }
    return {};
  }

  /// Shares a copy along all extents where its box is the same.
  bool mark(tile::CopyOp copy) {
    auto type = cast<MemRefType>(copy.getTarget().getType());
    SmallVector<int64_t> along;
    int64_t blocks = 1;
    for (unsigned dim = 0; dim < grid.getNumResults(); ++dim)
      if (grid.clusterAlong(dim) > 1 && llvm::none_of(copy.getSourceOffsets(), [&](Value offset) {
            return differs(offset, dim);
          })) {
        along.push_back(dim);
        blocks *= grid.clusterAlong(dim);
      }
    if (along.empty() || type.getRank() != 2 || copy.getRows() ||
        type.getDimSize(0) % (blocks * nvptx::swizzledRows) != 0)
      return false;
    copy->setAttr(nv::NVDialect::sharedAlongAttr, DenseI64ArrayAttr::get(copy.getContext(), along));
    return true;
  }

  /// Puts what acts outside of the block under a condition: the block belongs to the grid.
  void guardEffects() {
    OpBuilder b(kernel.getContext());
    if (grid->getBlock() == body)
      b.setInsertionPointAfter(grid);
    else
      b.setInsertionPointToStart(body);
    Value inside;
    for (unsigned dim = 0; dim < grid.getNumResults(); ++dim)
      if (grid.clusterAlong(dim) > 1) {
        Value here = arith::CmpIOp::create(b, grid.getLoc(), arith::CmpIPredicate::slt,
                                           coordinates[dim], grid.getExtents()[dim]);
        inside = inside ? arith::AndIOp::create(b, grid.getLoc(), inside, here).getResult() : here;
      }
    for (Operation &op : llvm::make_early_inc_range(
             llvm::make_range(std::next(inside.getDefiningOp()->getIterator()),
                              Block::iterator(body->getTerminator()))))
      if (op.use_empty() && hasEffect(&op)) {
        b.setInsertionPoint(&op);
        auto only = scf::IfOp::create(b, op.getLoc(), inside);
        op.moveBefore(only.thenBlock()->getTerminator());
      }
  }

  func::FuncOp kernel;
  tile::GridOp grid;
  nvptx::Replication replication;
  Block *body;            ///< the work of a block, for its coordinates
  ValueRange coordinates; ///< of the block
  llvm::SetVector<Operation *> loops;
};

struct ShareCopies : penstock::impl::ShareCopiesBase<ShareCopies> {
  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    auto grids = kernel.getBody().front().getOps<tile::GridOp>();
    if (grids.empty())
      return;
    tile::GridOp grid = *grids.begin();
    if (llvm::all_of(llvm::seq(grid.getNumResults()),
                     [&](unsigned dim) { return grid.clusterAlong(dim) == 1; }))
      return grid.removeClusterAttr(), grid.setPair(false), void();
    std::string why =
        nvptx::architectureOf(kernel).tma ? Sharing(kernel, grid).run() : "the GPU has none";
    if (why.empty())
      return;
    grid.removeClusterAttr();
    grid.setPair(false);
    kernel->setAttr(nv::NVDialect::noClusterAttr, StringAttr::get(&getContext(), why));
  }
};

} // namespace
