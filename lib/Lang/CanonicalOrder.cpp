//===- CanonicalOrder.cpp - One program whatever compiled the user's code -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lang/CanonicalOrder.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace penstock;

namespace {

bool isMovable(Operation *op) {
  return isPure(op) && op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<tile::GridOp>(op);
}

class Orderer {
public:
  explicit Orderer(Block &block) : block(block) {}

  void run() {
    SmallVector<Operation *> fixed;
    for (Operation &op : block)
      if (!isMovable(&op))
        fixed.push_back(&op);
    for (Operation *op : fixed)
      placeOperandsBefore(op, op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isMovable(&op) && op.use_empty())
        op.erase();
  }

private:
  /// Moves what \p user needs, directly or inside its regions, before \p at.
  void placeOperandsBefore(Operation *user, Operation *at) {
    user->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      for (mlir::Value operand : inner->getOperands()) {
        Operation *op = operand.getDefiningOp();
        if (!op || op->getBlock() != &block || !isMovable(op) || !placed.insert(op).second)
          continue;
        placeOperandsBefore(op, at);
        op->moveBefore(at);
      }
    });
  }

  Block &block;
  llvm::DenseSet<Operation *> placed;
};

} // namespace

void lang::canonicalizeOrder(func::FuncOp function) {
  // Inner blocks first: their users then ask for outer values in final order.
  function.walk<WalkOrder::PostOrder>([](Block *block) { Orderer(*block).run(); });
}
