//===- LowerScopes.cpp - Roles, loops and the order of kernels ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

namespace {

/// Named barriers by first warp and number of warps.
struct RoleBarriers {
  std::map<std::pair<int64_t, int64_t>, int64_t> of;
};

} // namespace

/// Moves the body of a scope to a condition, and lowers it there.
static LogicalResult lowerScope(LoweringContext &c, Operation *op, Value condition, Region &body,
                                const ExecutionScope &by) {
  auto choice = scf::IfOp::create(c.builder, c.loc, TypeRange(), condition, /*withElse=*/false);
  mlir::Block *then = choice.thenBlock();
  Operation *yield = then->getTerminator();
  mlir::Block &from = body.front();
  from.getTerminator()->erase();
  then->getOperations().splice(yield->getIterator(), from.getOperations());
  op->erase();
  return lowerBlock(c, *then, by);
}

static LogicalResult lowerWarps(LoweringContext &c, nv::WarpsOp op) {
  Value warp = c.shiftRight(c.thread, 5);
  Value from = arith::SubIOp::create(c.builder, c.loc, warp, c.i32(op.getFirst()));
  Value inside = c.cmp(arith::CmpIPredicate::ult, from, c.i32(op.getCount()));
  ExecutionScope inner;
  inner.scope = {int64_t(op.getFirst()), int64_t(op.getCount()), false, false};
  // Parts of one role follow each other: they synchronize by one barrier.
  auto &roleBarriers = c.state<RoleBarriers>().of;
  std::pair<int64_t, int64_t> own(op.getFirst(), op.getCount());
  auto known = roleBarriers.find(own);
  inner.barrier = known != roleBarriers.end() ? known->second : c.namedBarriers.next;
  // Electing must happen where all threads of the warps are.
  c.builder.setInsertionPointToStart(&op.getBody().front());
  inner.leader = electedThread(c);
  if (op.getCount() > 1) {
    Value firstWarp = c.cmp(arith::CmpIPredicate::eq, warp, c.i32(op.getFirst()));
    inner.leader = arith::AndIOp::create(c.builder, c.loc, inner.leader, firstWarp);
  }
  inner.group = warpgroupOf(c, op, op.getFirst(), op.getCount());
  bool named = false;
  op.walk([&](Operation *inner) {
    named |= isa<nv::SyncOp>(inner) ||
             (c.mode.tileProgram && isa<tile::TileDialect>(inner->getDialect()));
  });
  if (named && known == roleBarriers.end()) {
    nameSync(c, inner.barrier);
    roleBarriers.try_emplace(own, inner.barrier);
    if (failed(takeBarrier(c, op)))
      return failure();
  }
  c.builder.setInsertionPoint(op);
  return lowerScope(c, op, inside, op.getBody(), inner);
}

static LogicalResult lowerElect(LoweringContext &c, nv::ElectOp op, const ExecutionScope &by) {
  ExecutionScope inner = by;
  inner.scope.oneThread = true;
  return lowerScope(c, op, by.leader, op.getBody(), inner);
}

/// Lowers the operations of a loop or condition, which stays.
static LogicalResult lowerControlFlow(LoweringContext &c, Operation *op, const ExecutionScope &by) {
  if (op->hasAttr(tile::TileDialect::scheduleAttr))
    return c.refuse(
        op, "of an explicit kernel cannot be pipelined by the compiler",
        "its barriers and phases are stated, and slots would need others: use `range` with a "
        "`Pipeline` (penstock/pipeline.h), or leave barriers to the compiler (b.copy, b.gemm)");
  for (Region &region : op->getRegions())
    for (mlir::Block &block : region)
      if (failed(lowerBlock(c, block, by)))
        return failure();
  return success();
}

static LogicalResult lowerFor(LoweringContext &c, scf::ForOp op, const ExecutionScope &by) {
  return lowerControlFlow(c, op, by);
}

static LogicalResult lowerIf(LoweringContext &c, scf::IfOp op, const ExecutionScope &by) {
  return lowerControlFlow(c, op, by);
}

static LogicalResult lowerWhile(LoweringContext &c, scf::WhileOp op, const ExecutionScope &by) {
  return lowerControlFlow(c, op, by);
}

static void lowerWarpgroup(LoweringContext &c, nv::WarpgroupOp op, const ExecutionScope &by) {
  op.replaceAllUsesWith(c.asIndex(by.group ? by.group : c.i32(0)));
}

static void lowerClusterRank(LoweringContext &c, nv::ClusterRankOp op) {
  op.replaceAllUsesWith(
      c.asIndex(c.ptxValue(c.builder.getI32Type(), "mov.u32 $0, %cluster_ctarank;")));
}

static void lowerRegistersRequest(LoweringContext &c, nv::RegistersRequestOp op) {
  c.ptx(("setmaxnreg.inc.sync.aligned.u32 " + Twine(op.getCount()) + ";").str());
}

static void lowerRegistersRelease(LoweringContext &c, nv::RegistersReleaseOp op) {
  c.ptx(("setmaxnreg.dec.sync.aligned.u32 " + Twine(op.getCount()) + ";").str());
}

// Kernels do not overlap on older GPUs: there is nothing to wait for.

static void lowerWaitForPrevious(LoweringContext &c, tile::WaitForPreviousOp) {
  if (c.architecture.tma)
    c.ptx("griddepcontrol.wait;");
}

static void lowerLaunchDependents(LoweringContext &c, tile::LaunchDependentsOp) {
  if (c.architecture.tma)
    c.ptx("griddepcontrol.launch_dependents;");
}

void nvptx::addScopes(LoweringTable &table) {
  table.addStructure<lowerWarps>();
  table.addStructure<lowerElect>();
  table.addStructure<lowerFor>();
  table.addStructure<lowerIf>();
  table.addStructure<lowerWhile>();
  table.add<lowerWarpgroup>();
  table.add<lowerClusterRank>();
  table.add<lowerRegistersRequest>();
  table.add<lowerRegistersRelease>();
  table.add<lowerWaitForPrevious>();
  table.add<lowerLaunchDependents>();
}
