//===- ConfineThreads.cpp - Code of the compute warps only ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One group of warps executes a tile program. Roles of warp-specialized loops are
// further warps of the block, and all that lies outside of these roles must stay with
// the warps that compute. Control flow around such loops, and the scalars that it
// needs, are executed by all.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/ConfineThreads.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace penstock;

nvptx::Replication::Replication(func::FuncOp kernel) {
  kernel.walk([&](tile::TileAccessOpInterface op) {
    SmallVector<tile::TileAccess> accesses;
    op.getAccesses(accesses);
    for (const tile::TileAccess &access : accesses) {
      if (!access.writes && !access.atomic)
        continue;
      Value root = tile::rootOf(access.memref);
      written.insert(root);
      auto argument = dyn_cast<BlockArgument>(root);
      overlap |=
          argument && kernel.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr);
    }
  });
}

bool nvptx::Replication::isReplicable(Operation *op) const {
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    Value root = tile::rootOf(load.getSource());
    return isa<BlockArgument>(root) && !written.contains(root) && !overlap;
  }
  return isa<tile::AllocOp, nv::TensorAllocOp, tile::GridOp, tile::DivModOp, tile::BindOp>(op) ||
         (op->getNumRegions() == 0 && isMemoryEffectFree(op));
}

bool nvptx::Replication::isReplicable(Value value) const {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (isa<func::FuncOp>(parent))
        continue;
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (!loop || argument != loop.getInductionVar())
        return false;
      work.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
      continue;
    }
    if (!isReplicable(next.getDefiningOp()))
      return false;
    llvm::append_range(work, next.getDefiningOp()->getOperands());
  }
  return true;
}

namespace {

class Confiner {
public:
  Confiner(func::FuncOp kernel, int64_t warps)
      : kernel(kernel), replication(kernel), warps(warps), b(kernel.getContext()) {}

  void run() {
    findOwn();
    confine(kernel.getBody().front());
    for (auto [value, region] : defined)
      carry(value, region);
  }

private:
  static bool isRoleOrBarrier(Operation *op) {
    return isa<nv::WarpsOp, nv::SyncOp, nv::ClusterSyncOp>(op);
  }
  /// Control flow around roles.
  static bool isAround(Operation *op) {
    return op->getNumRegions() != 0 && !isa<nv::WarpsOp>(op) &&
           op->walk([&](Operation *inner) {
               return isRoleOrBarrier(inner) ? WalkResult::interrupt() : WalkResult::advance();
             }).wasInterrupted();
  }
  static bool isVariable(Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    return type.getRank() == 0 && tile::spaceOf(type) == tile::Space::Local;
  }

  /// Finds operations that only the compute warps execute. A variable that one of them
  /// writes is their own, which makes others that read it theirs as well.
  void findOwn() {
    for (bool changed = true; changed;) {
      changed = false;
      kernel.walk([&](Operation *op) {
        if (op != kernel && !own.contains(op) && isOwn(op)) {
          own.insert(op);
          if (auto store = dyn_cast<tile::StoreOp>(op); store && isVariable(store.getTarget()))
            ownVariables.insert(store.getTarget());
          changed = true;
        }
      });
    }
  }

  bool isOwn(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>() || isRoleOrBarrier(op) || isAround(op) ||
        op->getParentOfType<nv::WarpsOp>() ||
        isa<tile::AllocOp, nv::TensorAllocOp, nv::BarrierAllocOp, nv::NamedBarrierAllocOp,
            nv::TensorDeallocOp>(op))
      return false;
    auto usesOwn = [&](Value value) {
      Operation *from = value.getDefiningOp();
      if (auto argument = dyn_cast<BlockArgument>(value))
        from = argument.getOwner()->getParentOp();
      return from && own.contains(from);
    };
    if (own.contains(op->getParentOp()) || llvm::any_of(op->getOperands(), usesOwn))
      return true;
    if (auto load = dyn_cast<tile::LoadOp>(op); load && isVariable(load.getSource()))
      return ownVariables.contains(load.getSource());
    if (auto store = dyn_cast<tile::StoreOp>(op); store && isVariable(store.getTarget()))
      return ownVariables.contains(store.getTarget());
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      return op
          ->walk([&](Operation *inner) {
            return inner != op && own.contains(inner) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
          })
          .wasInterrupted();
    // Every warp that accesses what the previous kernel wrote has to wait for it.
    if (isa<tile::AssertOp, tile::WaitForPreviousOp>(op))
      return false;
    return !replication.isReplicable(op);
  }

  void confine(mlir::Block &block) {
    nv::WarpsOp open;
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      if (auto role = dyn_cast<nv::WarpsOp>(op); role && !role->hasAttr(nv::NVDialect::roleAttr)) {
        if (!open) {
          open = role;
          continue;
        }
        mlir::Block &from = role.getBody().front();
        from.getTerminator()->erase();
        open.getBody().front().getOperations().splice(
            open.getBody().front().getTerminator()->getIterator(), from.getOperations());
        role.erase();
      } else if (own.contains(&op)) {
        if (!open) {
          b.setInsertionPoint(&op);
          open = nv::WarpsOp::create(b, op.getLoc(), 0, warps);
          b.createBlock(&open.getBody());
          nv::EndOp::create(b, op.getLoc());
        }
        op.moveBefore(open.getBody().front().getTerminator());
        for (Value result : op.getResults())
          defined.push_back({result, open});
      } else if (isAround(&op)) {
        open = nullptr;
        for (Region &region : op.getRegions())
          for (mlir::Block &inner : region)
            confine(inner);
      } else if (open && canMoveBefore(open, &op)) {
        op.moveBefore(open);
      } else {
        open = nullptr;
      }
    }
  }

  static bool accessesTensors(nv::WarpsOp region) {
    return region
        ->walk([](Operation *op) {
          bool is = !isa<memref::DimOp>(op) && llvm::any_of(op->getOperands(), [](Value operand) {
            auto type = dyn_cast<MemRefType>(operand.getType());
            return type && tile::spaceOf(type) == tile::Space::Global;
          });
          return is ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Returns whether an operation of all warps may come before what the compute warps execute:
  /// other roles run at the same time anyway. Registers of accumulators should not outlive one
  /// region of the compute warps: where its threads meet others again, the assembler copies them,
  /// and no longer keeps products in flight.
  bool canMoveBefore(nv::WarpsOp region, Operation *op) {
    if (isa<nv::WarpsOp, tile::AllocOp, nv::TensorAllocOp, nv::BarrierAllocOp>(op))
      return true;
    // Waiting earlier only costs time, and none before accesses to tensors.
    if (isa<tile::WaitForPreviousOp>(op))
      return !accessesTensors(region);
    Value variable;
    if (auto load = dyn_cast<tile::LoadOp>(op); load && isVariable(load.getSource()))
      variable = load.getSource();
    if (auto store = dyn_cast<tile::StoreOp>(op); store && isVariable(store.getTarget()))
      variable = store.getTarget();
    if (variable)
      return llvm::none_of(variable.getUsers(),
                           [&](Operation *user) { return region->isAncestor(user); });
    return replication.isReplicable(op);
  }

  //===------------------------------------------------------------------===//
  // Values that one part of the compute warps' code defines for a later one
  //===------------------------------------------------------------------===//

  void carry(Value value, nv::WarpsOp from) {
    llvm::DenseMap<Operation *, Value> known; ///< by region
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      auto to = use.getOwner()->getParentOfType<nv::WarpsOp>();
      if (to == from || !to)
        continue;
      Value &there = known[to];
      if (!there) {
        b.setInsertionPointToStart(&to.getBody().front());
        there = copyOf(value);
      }
      use.set(there);
    }
  }

  /// Computes a value again, or reads the variable that keeps it. Operands of what is computed
  /// again are carried as well, since they are in `defined`.
  Value copyOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (op->getNumRegions() == 0 && isMemoryEffectFree(op)) {
      auto to = b.getInsertionBlock()->getParentOp();
      IRMapping mapping;
      for (Value operand : op->getOperands()) {
        Operation *from = operand.getDefiningOp();
        if (from && from->getParentOfType<nv::WarpsOp>() &&
            from->getParentOfType<nv::WarpsOp>() != to)
          mapping.map(operand, copyOf(operand));
      }
      return b.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
    }
    Value &variable = variables[value];
    Type type = value.getType().isIndex() ? Type(b.getI64Type()) : value.getType();
    Location loc = value.getLoc();
    if (!variable) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&kernel.getBody().front());
      variable = tile::AllocOp::create(b, loc, tile::tileType({}, type, tile::Space::Local),
                                       StringAttr(), IntegerAttr());
      b.setInsertionPointAfter(op);
      Value stored = value;
      if (value.getType().isIndex())
        stored = arith::IndexCastOp::create(b, loc, type, value);
      tile::StoreOp::create(b, loc, stored, variable, ValueRange());
    }
    Value loaded = tile::LoadOp::create(b, loc, type, variable, ValueRange());
    if (value.getType().isIndex())
      loaded = arith::IndexCastOp::create(b, loc, b.getIndexType(), loaded);
    return loaded;
  }

  func::FuncOp kernel;
  nvptx::Replication replication;
  int64_t warps;
  OpBuilder b;
  llvm::DenseSet<Operation *> own;    ///< of the compute warps
  llvm::DenseSet<Value> ownVariables; ///< that they write alone
  SmallVector<std::pair<Value, nv::WarpsOp>> defined;
  llvm::DenseMap<Value, Value> variables; ///< that carry values
};

} // namespace

void nvptx::confineThreads(func::FuncOp kernel, int64_t warps) { Confiner(kernel, warps).run(); }
