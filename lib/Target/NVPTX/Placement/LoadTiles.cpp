//===- LoadTiles.cpp - The pass nv-load-tiles -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that is loaded once, before the pipelined loops, needs no ring: one barrier that completes
// one phase. Each role waits for it before its first access, so the role that loads the tiles of
// the loop does not wait at all.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Plans/OpenRings.h"
#include "Target/NVPTX/Plans/PlanPoints.h"

namespace penstock {
#define GEN_PASS_DEF_LOADTILES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

class Loader {
public:
  Loader(func::FuncOp kernel, tile::CopyOp copy)
      : kernel(kernel), copy(copy), b(kernel.getContext()), loc(copy.getLoc()) {}

  void run() {
    SmallVector<Operation *> users;
    nvptx::usersOf(tile::rootOf(copy.getTarget()), users);
    llvm::erase(users, copy);
    b.setInsertionPointToStart(&kernel.getBody().front());
    std::string label = tile::nameOf(copy.getTarget()) + " loaded";
    barrier = nv::BarrierAllocOp::create(b, loc, nv::BarriersType::get(b.getContext(), 1),
                                         b.getStringAttr(label), ArrayRef<int64_t>{1});
    waitAfter(issue(), users);
    copy.erase();
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  /// One thread arrives and loads before the roles begin: they run at the same time.
  Operation *issue() {
    b.setInsertionPoint(copy);
    if (copy->getParentOp() != kernel)
      b.setInsertionPoint(*kernel.getBody().front().getOps<nv::WarpsOp>().begin());
    auto type = cast<MemRefType>(copy.getTarget().getType());
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    SmallVector<Value> offsets = llvm::map_to_vector(
        copy.getSourceOffsets(), [&](Value offset) { return outsideOfRoles(offset); });
    nvptx::PointWriter(b).arrive(loc, barrier, index(0), index(bytes), /*leader=*/true);
    return nv::TmaLoadOp::create(b, loc, copy.getSource(), offsets, copy.getTarget(), barrier,
                                 index(0), nvptx::boxDims(copy), copy.getRowsAttr());
  }

  /// Clones what computes an offset within a role; nv-bind-engines knows it to have no effects.
  Value outsideOfRoles(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op ||
        (op->getBlock() == b.getInsertionBlock() && op->isBeforeInBlock(&*b.getInsertionPoint())))
      return value;
    if (Value known = mapping.lookupOrNull(value))
      return known;
    for (Value operand : op->getOperands())
      mapping.map(operand, outsideOfRoles(operand));
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }

  /// Waits in each role that accesses the tile, up to the first access by all threads.
  void waitAfter(Operation *op, ArrayRef<Operation *> users) {
    auto accesses = [&](Operation *user) { return op->isAncestor(user); };
    while ((op = op->getNextNode())) {
      if (!llvm::any_of(users, accesses))
        continue;
      auto role = dyn_cast<nv::WarpsOp>(op);
      if (role)
        b.setInsertionPointToStart(&role.getBody().front());
      else
        b.setInsertionPoint(op);
      Value phase = arith::ConstantIntOp::create(b, loc, 0, 32);
      nv::WaitOp::create(b, loc, barrier, index(0), phase, /*relaxed=*/false, /*cluster=*/false);
      if (!role)
        return;
    }
  }

  func::FuncOp kernel;
  tile::CopyOp copy;
  Value barrier;
  IRMapping mapping; ///< of values in roles
  OpBuilder b;
  Location loc;
};

struct LoadTiles : penstock::impl::LoadTilesBase<LoadTiles> {
  void runOnKernel() override {
    SmallVector<tile::CopyOp> copies;
    getOperation().walk([&](tile::CopyOp copy) {
      if (nvptx::isLoadBeforeLoops(copy))
        copies.push_back(copy);
    });
    for (tile::CopyOp copy : copies)
      Loader(getOperation(), copy).run();
  }
};

} // namespace
