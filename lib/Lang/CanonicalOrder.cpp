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

bool isPureScalar(Operation *op) {
  return isPure(op) && op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<tile::GridOp>(op);
}

/// Returns whether an operation loads a variable: a tile of rank 0, which only stores change.
bool isVariableLoad(Operation *op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && load.getIndices().empty();
}

class Orderer {
public:
  explicit Orderer(Block &block) : block(block) {
    // Loads of variables for one operation stand directly before it and its pure operands.
    for (Operation &op : block) {
      if (isVariableLoad(&op)) {
        loads.push_back(&op);
      } else if (!isPureScalar(&op)) {
        keepOthers(&op);
        loads.clear();
      }
    }
  }

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
  bool isMovable(Operation *op) const {
    return isPureScalar(op) || (isVariableLoad(op) && movableLoads.contains(op));
  }

  /// Of the loads since the last operation with effects, only those that \p user needs can be
  /// reordered: they are placed before it anyway.
  void keepOthers(Operation *user) {
    llvm::DenseSet<Operation *> needed;
    auto need = [&](auto &self, Operation *of) -> void {
      of->walk<WalkOrder::PreOrder>([&](Operation *inner) {
        for (mlir::Value operand : inner->getOperands())
          if (Operation *op = operand.getDefiningOp(); op && op->getBlock() == &block &&
                                                       (isPureScalar(op) || isVariableLoad(op)) &&
                                                       needed.insert(op).second)
            self(self, op);
      });
    };
    need(need, user);
    for (Operation *load : loads)
      if (needed.contains(load))
        movableLoads.insert(load);
  }

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
  SmallVector<Operation *> loads; ///< since the last operation with effects
  llvm::DenseSet<Operation *> movableLoads, placed;
};

} // namespace

void lang::canonicalizeOrder(func::FuncOp function) {
  // Inner blocks first: their users then ask for outer values in final order.
  function.walk<WalkOrder::PostOrder>([](Block *block) { Orderer(*block).run(); });
}
