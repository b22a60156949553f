//===- IssueProducts.cpp - Products as operations of engines --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For pipelined loops, whose plans say when products complete (nv-write-plans), and
// for the rest of a kernel, where each completes before the next statement.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/IssueProducts.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"

using namespace mlir;
using namespace penstock;
using sched::Engine;

/// Copies the scales of an operand to tensor memory, in the queue of the product that follows.
/// Returns the tile there; none if the product has no scales.
static Value issueScales(OpBuilder &b, tile::GemmOp gemm, Value scales, int64_t operand) {
  if (!scales)
    return {};
  int64_t number = 2 * gemm->getAttrOfType<IntegerAttr>(nv::NVDialect::scalesAttr).getInt();
  Value cells;
  gemm->getParentOfType<func::FuncOp>().walk([&](nv::TensorAllocOp op) {
    auto own = op->getAttrOfType<IntegerAttr>(nv::NVDialect::scalesAttr);
    if (own && own.getInt() == number + operand)
      cells = op.getResult();
  });
  auto copy = nv::TensorCopyOp::create(b, gemm.getLoc(), scales, cells);
  if (Attribute loop = gemm->getAttr(nv::NVDialect::plannedAttr))
    copy->setAttr(nv::NVDialect::plannedAttr, loop);
  return cells;
}

void nvptx::writeIssue(OpBuilder &b, Operation *op, Engine engine, Value isFirst,
                       std::optional<int64_t> part) {
  Location loc = op->getLoc();
  Operation *issue;
  if (auto copy = dyn_cast<tile::CopyOp>(op)) {
    if (engine == Engine::Tcgen05Load)
      issue = nv::TensorLoadOp::create(b, loc, copy.getSource(), copy.getTarget());
    else
      issue = nv::TensorStoreOp::create(b, loc, copy.getSource(), copy.getTarget());
  } else {
    auto gemm = cast<tile::GemmOp>(op);
    if (engine == Engine::Wgmma)
      nv::WgmmaFenceOp::create(b, loc);
    Value more = arith::ConstantIntOp::create(b, loc, !gemm.getOverwrite(), 1);
    if (isFirst && gemm.getStarts())
      more = b.createOrFold<arith::XOrIOp>(loc, isFirst, more);
    Value scaleA = issueScales(b, gemm, gemm.getScaleA(), 0);
    Value scaleB = issueScales(b, gemm, gemm.getScaleB(), 1);
    if (engine == Engine::Wgmma)
      issue = nv::WgmmaOp::create(b, loc, gemm.getA(), gemm.getB(), gemm.getAcc(), more);
    else
      issue = nv::TensorMmaOp::create(b, loc, gemm.getA(), gemm.getB(), gemm.getAcc(), more, scaleA,
                                      scaleB, part ? b.getI64IntegerAttr(*part) : IntegerAttr(),
                                      gemm.getPackingAAttr(), gemm.getPackingBAttr());
  }
  if (Attribute loop = op->getAttr(nv::NVDialect::plannedAttr))
    issue->setAttr(nv::NVDialect::plannedAttr, loop);
  op->erase();
}

bool nvptx::isTensorCore(Engine engine) {
  return engine == Engine::Wgmma || engine == Engine::Tcgen05Mma || engine == Engine::Tcgen05Load ||
         engine == Engine::Tcgen05Store;
}

namespace {

/// Writes products and copies of accumulators that complete before the next statement.
class InOrderWriter {
public:
  explicit InOrderWriter(func::FuncOp kernel) : kernel(kernel), b(kernel.getContext()) {}

  void run() {
    SmallVector<Operation *> found;
    kernel.walk([&](Operation *op) {
      if (nvptx::isTensorCore(nvptx::engineOf(op)))
        found.push_back(op);
    });
    for (Operation *op : found)
      write(op, nvptx::engineOf(op));
    free();
  }

private:
  void write(Operation *op, Engine engine) {
    Location loc = op->getLoc();
    b.setInsertionPointAfter(op); // it is erased
    if (engine == Engine::Tcgen05Mma || engine == Engine::Tcgen05Load)
      nv::TensorFenceOp::create(b, loc, /*after=*/true);
    nvptx::writeIssue(b, op, engine);
    switch (engine) {
    case Engine::Wgmma:
      nv::WgmmaCommitOp::create(b, loc);
      nv::WgmmaWaitOp::create(b, loc, 0);
      return;
    case Engine::Tcgen05Mma:
      await(loc);
      return;
    case Engine::Tcgen05Load:
      nv::TensorWaitLoadOp::create(b, loc);
      nv::TensorFenceOp::create(b, loc);
      return;
    default:
      nv::TensorWaitStoreOp::create(b, loc);
      nv::TensorFenceOp::create(b, loc);
      return;
    }
  }

  /// One barrier serves all products that are awaited at once; a variable counts them.
  void await(Location loc) {
    Type i32 = b.getI32Type();
    if (!count) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&kernel.getBody().front());
      barrier = nv::BarrierAllocOp::create(b, loc, nv::BarriersType::get(b.getContext(), 1),
                                           b.getStringAttr("multiplied"), ArrayRef<int64_t>{1});
      count = tile::AllocOp::create(b, loc, tile::tileType({}, i32, tile::Space::Local),
                                    StringAttr(), IntegerAttr());
      Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
      tile::StoreOp::create(b, loc, zero, count, ValueRange());
    }
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    nv::TensorCommitOp::create(b, loc, barrier, zero);
    Value phase = tile::LoadOp::create(b, loc, i32, count, ValueRange());
    nv::WaitOp::create(b, loc, barrier, zero, phase);
    nv::TensorFenceOp::create(b, loc, /*after=*/true);
    Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
    tile::StoreOp::create(b, loc, arith::XOrIOp::create(b, loc, phase, one), count, ValueRange());
  }

  /// Frees tensor memory at the end, where nv-insert-syncs lets all threads meet first.
  void free() {
    SmallVector<Value> tiles;
    kernel.walk([&](nv::TensorAllocOp op) { tiles.push_back(op.getResult()); });
    if (tiles.empty())
      return;
    Operation *end = kernel.getBody().front().getTerminator();
    b.setInsertionPoint(end);
    for (Value tile : tiles)
      nv::TensorDeallocOp::create(b, end->getLoc(), tile);
  }

  func::FuncOp kernel;
  OpBuilder b;
  Value barrier, count;
};

/// Returns true if threads access local tiles there, which products may have in registers.
bool usesLocalTiles(Operation *op) {
  return op
      ->walk([](Operation *nested) {
        bool local =
            !isa<nv::WgmmaOp>(nested) && llvm::any_of(nested->getOperandTypes(), [](Type type) {
              auto memref = dyn_cast<MemRefType>(type);
              return memref && tile::spaceOf(memref) == tile::Space::Local;
            });
        return local ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A fence orders what threads did to registers before all products after it: another one is
/// needed only after threads have accessed local tiles again.
void dropRepeatedFences(func::FuncOp kernel) {
  kernel.walk([](mlir::Block *block) {
    bool fenced = false;
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      if (!isa<nv::WgmmaFenceOp>(op))
        fenced = fenced && !usesLocalTiles(&op);
      else if (fenced)
        op.erase();
      else
        fenced = true;
    }
  });
}

} // namespace

void nvptx::writeInOrder(func::FuncOp kernel) {
  InOrderWriter(kernel).run();
  dropRepeatedFences(kernel);
}
