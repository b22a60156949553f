//===- RequestBlocks.cpp - The pass nv-request-blocks ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop over blocks that are taken over (nv-take-over-blocks) becomes one that ends when
// no block is left. A warp of its own asks for the next block as soon as all threads have
// read the answer before: the role that loads must not wait for the epilogue to do so.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Plans/PlanPoints.h"
#include "Transforms/Launch/GridCoordinates.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace penstock {
#define GEN_PASS_DEF_REQUESTBLOCKS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Bytes of an answer, and its words.
constexpr int64_t answerBytes = 16, answerWords = 4;

class Writer {
public:
  Writer(func::FuncOp kernel, scf::ForOp rounds)
      : kernel(kernel), rounds(rounds), b(kernel.getContext()), loc(rounds.getLoc()) {
    kernel.walk([&](tile::GridOp op) { grid = op; });
    for (unsigned dim = 0; dim < grid.getNumResults(); ++dim)
      blocks *= grid.clusterAlong(dim);
  }

  void run() {
    int64_t asks = addWarp();
    b.setInsertionPointToStart(&kernel.getBody().front());
    answer = tile::AllocOp::create(
        b, loc, tile::tileType({answerWords}, b.getI32Type(), tile::Space::Shared),
        b.getStringAttr("answer"), IntegerAttr());
    answered = allocate("answered", 1);
    read = allocate("read", blocks > 1 ? blocks * threads / nv::warpSize : threads);
    b.setInsertionPoint(rounds);
    if (blocks > 1)
      rank = nv::ClusterRankOp::create(b, loc, b.getIndexType());
    // Threads know for themselves what is next: variables, as roles follow the loop at their own
    // pace.
    Value busy = variable(b.getI1Type(), arith::ConstantIntOp::create(b, loc, 1, 1));
    Value phase = variable(b.getI32Type(), i32(0));
    SmallVector<Value> coordinates;
    for (Value own : grid.getCoordinates())
      coordinates.push_back(variable(b.getI64Type(), asInteger(own)));

    auto loop = scf::WhileOp::create(b, loc, TypeRange(), ValueRange());
    loop->setAttr(nv::NVDialect::takesOverAttr, b.getUnitAttr());
    b.createBlock(&loop.getBefore());
    scf::ConditionOp::create(b, loc, load(busy), ValueRange());
    b.createBlock(&loop.getAfter());
    Value now = load(phase);
    request(asks, now);
    SmallVector<Value> current;
    for (Value coordinate : coordinates)
      current.push_back(
          arith::IndexCastOp::create(b, loc, b.getIndexType(), load(coordinate)).getResult());
    moveBody(current);
    nv::WaitOp::create(b, loc, answered, index(0), now, /*relaxed=*/false, /*cluster=*/false);
    auto next = nv::ClcAnswerOp::create(b, loc, b.getI1Type(), b.getIndexType(), answer);
    // The next answer is written by another proxy.
    nv::ProxyFenceOp::create(b, loc);
    release();
    store(next.getGranted(), busy);
    Value block = next.getBlock();
    if (rank)
      block = arith::AddIOp::create(b, loc, block, rank);
    if (grid.getSwizzle()) // divisions are in 32 bits if numbers of blocks are known to be
      block = arith::AndIOp::create(b, loc, block, index(std::numeric_limits<int32_t>::max()));
    for (auto [coordinate, to] : llvm::zip_equal(
             coordinatesOfBlock(b, grid, extentsInClusters(b, grid), block), coordinates))
      store(asInteger(coordinate), to);
    store(arith::XOrIOp::create(b, loc, now, i32(1)), phase);
    scf::YieldOp::create(b, loc);
    rounds.erase();
  }

private:
  /// Returns the warp that asks. Where roles have warps of their own, it is one more, if a block
  /// may have one more.
  int64_t addWarp() {
    threads = kernel->getAttrOfType<IntegerAttr>(nv::NVDialect::threadsAttr).getInt();
    bool roles =
        rounds.walk([](nv::WarpsOp op) { return WalkResult::interrupt(); }).wasInterrupted();
    constexpr int64_t mostThreads = 1024;
    if (!roles || threads + nv::warpSize > mostThreads)
      return 0;
    threads += nv::warpSize;
    kernel->setAttr(nv::NVDialect::threadsAttr, b.getI64IntegerAttr(threads));
    return threads / nv::warpSize - 1;
  }

  void request(int64_t warp, Value phase) {
    auto scope = nv::WarpsOp::create(b, loc, warp, 1);
    nv::setRole(scope, nv::requestRole);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&scope.getBody());
    nv::EndOp::create(b, loc);
    b.setInsertionPointToStart(&scope.getBody().front());
    Value before = arith::XOrIOp::create(b, loc, phase, i32(1));
    if (!rank) {
      nv::WaitOp::create(b, loc, read, index(0), before, /*relaxed=*/false, /*cluster=*/false);
      nvptx::PointWriter(b).arrive(loc, answered, index(0), index(answerBytes), /*leader=*/true);
      nv::ClcRequestOp::create(b, loc, answer, answered, index(0));
      return;
    }
    nvptx::PointWriter(b).arrive(loc, answered, index(0), index(answerBytes), /*leader=*/true);
    // The first block asks for the cluster, when all of its blocks have read the answer before.
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rank, index(0)).getResult();
    auto first = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    b.setInsertionPointToStart(first.thenBlock());
    nv::WaitOp::create(b, loc, read, index(0), before, /*relaxed=*/false, /*cluster=*/true);
    nv::ClcRequestOp::create(b, loc, answer, answered, index(0), i32((1 << blocks) - 1));
  }

  /// Arrives where the answer has been read: in a cluster at its first block, one thread of each
  /// warp.
  void release() {
    if (!rank) {
      nv::ArriveOp::create(b, loc, read, index(0), Value());
      return;
    }
    nv::WarpSyncOp::create(b, loc);
    nv::ArriveOp::create(b, loc, read, index(0), Value(), /*cta=*/index(0), /*relaxed=*/false,
                         /*cluster=*/false, /*eachWarp=*/true);
  }

  /// Moves what a round does here.
  void moveBody(ArrayRef<Value> coordinates) {
    SmallVector<nv::ClcWorkOp> works;
    rounds.walk([&](nv::ClcWorkOp op) { works.push_back(op); });
    Block *block = b.getInsertionBlock();
    for (Operation &op : llvm::make_early_inc_range(rounds.getBody()->without_terminator()))
      op.moveBefore(block, block->end());
    b.setInsertionPointToEnd(block);
    for (nv::ClcWorkOp work : works) {
      OpBuilder at(work);
      Value granted = arith::ConstantIntOp::create(at, loc, 1, 1);
      work.getGranted().replaceAllUsesWith(granted);
      work.getCoordinates().replaceAllUsesWith(ValueRange(coordinates));
      work.erase();
    }
  }

  Value allocate(StringRef name, int64_t count) {
    return nv::BarrierAllocOp::create(b, loc, nv::BarriersType::get(b.getContext(), 1),
                                      b.getStringAttr(name), SmallVector<int64_t>{count});
  }
  Value variable(Type type, Value first) {
    Value variable = tile::AllocOp::create(b, loc, tile::tileType({}, type, tile::Space::Local),
                                           StringAttr(), IntegerAttr());
    store(first, variable);
    return variable;
  }
  Value load(Value variable) {
    return tile::LoadOp::create(b, loc, cast<MemRefType>(variable.getType()).getElementType(),
                                variable, ValueRange());
  }
  void store(Value value, Value variable) {
    tile::StoreOp::create(b, loc, value, variable, ValueRange());
  }
  Value asInteger(Value index) { return arith::IndexCastOp::create(b, loc, b.getI64Type(), index); }
  Value i32(int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  func::FuncOp kernel;
  scf::ForOp rounds;
  tile::GridOp grid;
  OpBuilder b;
  Location loc;
  int64_t threads = 0;
  int64_t blocks = 1; ///< of a cluster
  Value rank;         ///< of the block in its cluster, if that has several
  Value answer, answered, read;
};

struct RequestBlocks : penstock::impl::RequestBlocksBase<RequestBlocks> {
  void runOnKernel() override {
    scf::ForOp rounds;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(nv::NVDialect::takesOverAttr))
        rounds = loop;
    });
    if (rounds)
      Writer(getOperation(), rounds).run();
  }
};

} // namespace
