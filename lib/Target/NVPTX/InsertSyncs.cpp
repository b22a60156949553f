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
// barrier in front of the first access that conflicts.
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

  void merge(const Pending &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    atomics.insert(other.atomics.begin(), other.atomics.end());
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

  /// What an operation accesses, regions included; registers excluded.
  Pending accessesOf(Operation *op) {
    Pending found;
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
    if (isa<nv::SyncOp>(op)) {
      pending = {};
      return;
    }
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
    if (accesses.conflicts(pending)) {
      OpBuilder builder(op);
      nv::SyncOp::create(builder, op->getLoc());
      pending = {};
    }
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
