//===- InsertSyncs.cpp - Barriers between accesses of one block -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on tiles are executed by all threads of a block, each for elements
// of its own. Where one reads or writes memory that another one wrote or read
// before, all threads must meet in between. The pass follows what has been
// accessed since the last barrier, through loops and conditionals, and inserts a
// barrier in front of the first access that conflicts. Products that read shared memory
// by another path than threads also need a fence behind what threads wrote. Copies by
// engines are left to the plans of their loops.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_INSERTSYNCS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// What has been accessed since the last barrier.
struct Pending {
  llvm::SmallPtrSet<void *, 8> reads, writes, atomics;
  /// Written by threads since the last fence for engines, whatever barriers there were.
  llvm::SmallPtrSet<void *, 8> unfenced;

  void merge(const Pending &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    atomics.insert(other.atomics.begin(), other.atomics.end());
    unfenced.insert(other.unfenced.begin(), other.unfenced.end());
  }
  /// All threads have met.
  void meet() {
    reads.clear();
    writes.clear();
    atomics.clear();
  }
  bool conflicts(const Pending &with) const {
    auto meet = [](const auto &a, const auto &b) {
      return llvm::any_of(a, [&](void *root) { return b.contains(root); });
    };
    return meet(writes, with.reads) || meet(writes, with.writes) || meet(reads, with.writes) ||
           meet(atomics, with.reads) || meet(atomics, with.writes) || meet(reads, with.atomics) ||
           meet(writes, with.atomics);
  }
};

class Inserter {
public:
  explicit Inserter(func::FuncOp kernel) : kernel(kernel) {}

  void run() {
    Pending pending;
    visit(kernel.getBody().front(), pending);
  }

private:
  /// Tensors that may overlap are one piece of memory.
  void *memoryOf(Value memref) {
    Value root = tile::rootOf(memref);
    if (auto argument = dyn_cast<BlockArgument>(root);
        argument && kernel.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr))
      return kernel.getOperation();
    return root.getAsOpaquePointer();
  }

  /// The first of the operations that issue a product: nothing comes between its
  /// wgmma.fence and itself.
  static Operation *issueOf(Operation *op) {
    if (!isa<nv::WgmmaOp>(op))
      return op;
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
      if (isa<nv::WgmmaFenceOp>(before))
        return before;
      if (!isMemoryEffectFree(before))
        break;
    }
    return op;
  }

  static bool isProduct(Operation *op) { return isa<nv::WgmmaOp, nv::TensorMmaOp>(op); }

  /// What an operation accesses, regions included; registers excluded.
  Pending accessesOf(Operation *op) {
    Pending found;
    if (isProduct(op)) {
      for (Value operand : op->getOperands().take_front(2)) // both factors
        if (tile::spaceOf(cast<MemRefType>(operand.getType())) == tile::Space::Shared)
          found.reads.insert(memoryOf(operand));
      if (auto product = dyn_cast<nv::TensorMmaOp>(op))
        found.writes.insert(memoryOf(product.getAcc()));
      return found;
    }
    if (auto load = dyn_cast<nv::TensorLoadOp>(op))
      found.reads.insert(memoryOf(load.getSource()));
    if (auto store = dyn_cast<nv::TensorStoreOp>(op))
      found.writes.insert(memoryOf(store.getTarget()));
    op->walk([&](tile::TileAccessOpInterface nested) {
      SmallVector<tile::TileAccess> accesses;
      nested.getAccesses(accesses);
      for (const tile::TileAccess &access : accesses) {
        auto type = cast<MemRefType>(tile::rootOf(access.memref).getType());
        if (tile::spaceOf(type) == tile::Space::Local)
          continue;
        void *memory = memoryOf(access.memref);
        if (access.atomic) {
          found.atomics.insert(memory);
          continue;
        }
        if (access.reads)
          found.reads.insert(memory);
        if (access.writes)
          found.writes.insert(memory);
      }
    });
    return found;
  }

  void visit(mlir::Block &block, Pending &pending) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, pending);
  }

  void visit(Operation *op, Pending &pending) {
    if (isa<nv::SyncOp>(op))
      return pending.meet();
    if (isa<nv::ProxyFenceOp>(op))
      return pending.unfenced.clear();
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Pending otherwise = pending;
      visit(branch.getThenRegion().front(), pending);
      if (!branch.getElseRegion().empty())
        visit(branch.getElseRegion().front(), otherwise);
      pending.merge(otherwise);
      return;
    }
    if (isa<scf::ForOp, scf::WhileOp>(op)) {
      // The second time with what the end of an iteration leaves to the next one.
      Pending skipped = pending;
      for (int round = 0; round < 2; ++round) {
        for (Region &region : op->getRegions())
          visit(region.front(), pending);
        pending.merge(skipped);
      }
      return;
    }
    Pending accesses = accessesOf(op);
    bool engine = isProduct(op);
    bool fence = engine && llvm::any_of(accesses.reads, [&](void *memory) {
                   return pending.unfenced.contains(memory);
                 });
    if (fence || accesses.conflicts(pending)) {
      OpBuilder builder(issueOf(op));
      if (fence) {
        nv::ProxyFenceOp::create(builder, op->getLoc());
        pending.unfenced.clear();
      }
      nv::SyncOp::create(builder, op->getLoc());
      pending.meet();
    }
    // All threads wait for a product by tcgen05, here or where its plan says.
    if (isa<nv::TensorMmaOp>(op))
      return;
    if (!engine)
      accesses.unfenced = accesses.writes;
    pending.merge(accesses);
  }

  func::FuncOp kernel;
};

struct InsertSyncs : penstock::impl::InsertSyncsBase<InsertSyncs> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(nv::NVDialect::inOrderAttr))
      Inserter(getOperation()).run();
  }
};

} // namespace
