//===- InsertSyncs.cpp - Barriers between accesses of one block -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All threads of a block execute tile operations, each for its elements. If two
// operations conflict on memory, all threads must synchronize in between. The pass
// tracks accesses since the last barrier, through loops and conditionals, and inserts
// a barrier before the first conflicting access. MMAs read shared memory through the
// async proxy and also need a proxy fence after thread writes. The plans of pipelined
// loops order engine copies and the statements of one loop (`nv.planned`), because they
// track the slots of rings. A tensor that one copy writes box by box, each once, needs no
// barriers. Tensor memory is freed after its last use by the threads of all roles.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/AffineOffsets.h"
#include "Analysis/Value/ValueRanges.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Plans/LoopSurroundings.h"

#include <map>
#include <optional>

namespace penstock {
#define GEN_PASS_DEF_INSERTSYNCS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using nvptx::memoryOf;

namespace {

/// Kinds of atomic updates of one piece of memory, as bits. Updates of one commuting kind have no
/// order; all others do.
using UpdateKinds = uint32_t;
constexpr UpdateKinds orderedUpdate = UpdateKinds(1) << 31;

/// Returns the kind of an update. An exchange does not commute with itself, nor does an update
/// whose old value is used, nor one of tensors that overlap with other element types.
UpdateKinds updateKindOf(tile::AtomicOp op) {
  bool overlaps = memoryOf(op.getTarget()) != tile::rootOf(op.getTarget()).getAsOpaquePointer();
  if (op.getKind() == tile::AtomicKind::Exchange || !op.getOld().use_empty() || overlaps)
    return orderedUpdate;
  return UpdateKinds(1) << unsigned(op.getKind());
}

bool commute(UpdateKinds first, UpdateKinds second) {
  UpdateKinds both = first | second;
  return llvm::has_single_bit(both) && both != orderedUpdate;
}

/// Accesses since the last barrier.
struct Pending {
  llvm::SmallPtrSet<void *, 8> reads, writes;
  llvm::SmallDenseMap<void *, UpdateKinds, 4> atomics;
  /// Written by threads since the last fence for engines, whatever barriers there were.
  llvm::SmallPtrSet<void *, 8> unfenced;
  /// Tensor memory that threads of other roles have accessed since all roles met.
  llvm::SmallPtrSet<void *, 4> inRoles;
  /// Accesses of statements of pipelined loops, by the number of their loop.
  std::map<int64_t, Pending> planned;
  /// Accesses of the statement that is being visited, by its number (`nv.group`).
  std::map<int64_t, Pending> groups;

  void merge(const Pending &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    for (auto [memory, kinds] : other.atomics)
      atomics[memory] |= kinds;
    unfenced.insert(other.unfenced.begin(), other.unfenced.end());
    inRoles.insert(other.inRoles.begin(), other.inRoles.end());
    for (const auto &[loop, accesses] : other.planned)
      planned[loop].merge(accesses);
    for (const auto &[group, accesses] : other.groups)
      groups[group].merge(accesses);
  }
  /// All threads have met.
  void meet() {
    reads.clear();
    writes.clear();
    atomics.clear();
    for (auto *parts : {&planned, &groups})
      for (auto &[number, accesses] : *parts)
        accesses.meet();
  }
  /// Engines see what threads wrote.
  void fence() {
    unfenced.clear();
    for (auto *parts : {&planned, &groups})
      for (auto &[number, accesses] : *parts)
        accesses.fence();
  }
  /// All but what the plan of loop \p except orders before its own statements; what statement
  /// \p group has accessed before is not ordered by it.
  Pending seenBy(std::optional<int64_t> except, std::optional<int64_t> group) {
    std::erase_if(groups, [&](const auto &other) { return other.first != group; });
    Pending all = *this;
    all.planned.clear();
    all.groups.clear();
    for (const auto &[loop, accesses] : planned)
      if (loop != except)
        all.merge(accesses);
    for (const auto &[number, accesses] : groups)
      all.merge(accesses);
    return all;
  }
  void forget(const llvm::SmallPtrSetImpl<void *> &tensors) {
    for (void *memory : tensors) {
      reads.erase(memory);
      writes.erase(memory);
      atomics.erase(memory);
    }
    for (auto *parts : {&planned, &groups})
      for (auto &[number, accesses] : *parts)
        accesses.forget(tensors);
  }
  bool conflicts(const Pending &with) const {
    auto shared = [](const auto &a, const auto &b) {
      return llvm::any_of(a, [&](void *memory) { return b.contains(memory); });
    };
    auto updated = [](const Pending &by, const Pending &other) {
      return llvm::any_of(by.atomics, [&](const auto &update) {
        return other.reads.contains(update.first) || other.writes.contains(update.first);
      });
    };
    return shared(writes, with.reads) || shared(writes, with.writes) ||
           shared(reads, with.writes) || updated(*this, with) || updated(with, *this) ||
           llvm::any_of(atomics, [&](const auto &update) {
             auto other = with.atomics.find(update.first);
             return other != with.atomics.end() && !commute(update.second, other->second);
           });
  }
};

class Inserter {
public:
  explicit Inserter(func::FuncOp kernel) : kernel(kernel) {}

  void run() {
    for (Value argument : kernel.getArguments())
      if (isa<MemRefType>(argument.getType()))
        tensors.insert(memoryOf(argument));
    findDisjoint();
    Pending pending;
    visit(kernel.getBody().front(), pending);
    leaveOutOthers();
  }

private:
  struct Inserted {
    Operation *fence = nullptr, *sync = nullptr;
  };

  /// Finds tensors that only one copy accesses, which writes no element twice.
  void findDisjoint() {
    llvm::DenseMap<void *, Operation *> accessedBy; // null: by several
    kernel.walk([&](Operation *op) {
      Pending accesses = accessesOfOne(op);
      auto add = [&](void *memory) {
        if (auto [known, inserted] = accessedBy.try_emplace(memory, op); known->second != op)
          known->second = nullptr;
      };
      for (auto *all : {&accesses.reads, &accesses.writes})
        llvm::for_each(*all, add);
      for (auto [memory, kinds] : accesses.atomics)
        add(memory);
    });
    for (auto [memory, op] : accessedBy)
      if (auto copy = dyn_cast_or_null<tile::CopyOp>(op); copy && writesEachOnce(copy))
        disjoint.insert(memory);
  }

  /// Returns whether the boxes that a block writes by a copy to a tensor are disjoint.
  bool writesEachOnce(tile::CopyOp copy) {
    scf::ForOp loop;
    for (Operation *parent = copy->getParentOp(); parent != kernel; parent = parent->getParentOp())
      if (isa<scf::IfOp, tile::StatementOp>(parent))
        continue;
      else if (loop || !(loop = dyn_cast<scf::ForOp>(parent)))
        return false;
    if (!copy.writesTensor())
      return false;
    if (!loop)
      return true;
    ValueRanges ranges(kernel);
    SmallVector<int64_t> shape = copy.getBoxShape();
    SmallVector<int64_t> dims = copy.getTensorDims();
    for (auto [i, dim] : llvm::enumerate(dims)) {
      auto offset =
          affineOffset(copy.getTargetOffsets()[unsigned(dim)], loop, KnownValues(), ranges);
      if (offset && offset->scale >= shape[i])
        return true;
    }
    return false;
  }

  /// A barrier that an iteration needs because of the one before may order what an earlier one
  /// was inserted for. Those of loops go first.
  void leaveOutOthers() {
    inserts = false;
    std::vector<Inserted> others;
    for (const Inserted &one : inserted)
      if (one.sync->getParentOfType<LoopLikeOpInterface>())
        leaveOut(one);
      else
        others.push_back(one);
    for (const Inserted &one : others)
      leaveOut(one);
  }

  void leaveOut(const Inserted &one) {
    mlir::Block *block = one.sync->getBlock();
    Operation *behind = one.sync->getNextNode();
    SmallVector<Operation *> ops = {one.sync};
    if (one.fence)
      ops.insert(ops.begin(), one.fence);
    for (Operation *op : ops)
      op->remove();
    unordered = false;
    Pending pending;
    visit(kernel.getBody().front(), pending);
    for (Operation *op : ops)
      if (unordered)
        block->getOperations().insert(behind->getIterator(), op);
      else
        op->destroy();
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

  /// The queue of the tensor core that an operation completes in.
  static std::optional<nv::Queue> productQueue(Operation *op) {
    auto hardware = dyn_cast<nv::HardwareOpInterface>(op);
    if (!hardware || hardware.getCompletion() != nv::Completion::InQueue)
      return std::nullopt;
    auto queue = hardware.getQueue();
    return queue == nv::Queue::Tensor || queue == nv::Queue::Wgmma ? queue : std::nullopt;
  }

  /// Returns the accesses of an operation and its regions, but for registers and tensors
  /// that need no order.
  Pending accessesOf(Operation *op) {
    Pending found;
    op->walk([&](Operation *nested) { found.merge(accessesOfOne(nested)); });
    found.forget(disjoint);
    return found;
  }

  /// Returns the accesses of an operation without its regions.
  Pending accessesOfOne(Operation *op) {
    Pending found;
    // All threads have finished with tensor memory when the first of its tiles is freed: they may
    // have been allocated at once.
    if (isa<nv::TensorDeallocOp>(op)) {
      kernel.walk([&](nv::TensorAllocOp tile) { found.writes.insert(memoryOf(tile.getResult())); });
      return found;
    }
    if (auto hardware = dyn_cast<nv::HardwareOpInterface>(op)) {
      // Copies by engines are ordered by plans; products and threads are not.
      if (!productQueue(op) && hardware.getCompletion() != nv::Completion::Immediate)
        return found;
      SmallVector<nv::HardwareAccess> accesses;
      hardware.getAccesses(accesses);
      for (const nv::HardwareAccess &access : accesses) {
        if (tile::spaceOf(cast<MemRefType>(access.memref.getType())) == tile::Space::Local)
          continue;
        if (access.writes)
          found.writes.insert(memoryOf(access.memref));
        else
          found.reads.insert(memoryOf(access.memref));
      }
      return found;
    }
    auto accessor = dyn_cast<tile::TileAccessOpInterface>(op);
    if (!accessor)
      return found;
    SmallVector<tile::TileAccess> accesses;
    accessor.getAccesses(accesses);
    for (const tile::TileAccess &access : accesses) {
      auto type = cast<MemRefType>(tile::rootOf(access.memref).getType());
      if (tile::spaceOf(type) == tile::Space::Local)
        continue;
      void *memory = memoryOf(access.memref);
      if (access.atomic) {
        found.atomics[memory] |= updateKindOf(cast<tile::AtomicOp>(op));
        continue;
      }
      if (access.reads)
        found.reads.insert(memory);
      if (access.writes)
        found.writes.insert(memory);
    }
    return found;
  }

  void insertBefore(Operation *op, bool fence) {
    OpBuilder builder(op);
    Inserted one;
    if (fence)
      one.fence = nv::ProxyFenceOp::create(builder, op->getLoc());
    one.sync = nv::SyncOp::create(builder, op->getLoc());
    inserted.push_back(one);
  }

  /// Threads meet: those of one role within it, all others elsewhere.
  static void meetAt(Operation *op, Pending &pending) {
    pending.meet();
    if (!op->getParentOfType<nv::WarpsOp>())
      pending.inRoles.clear();
  }

  /// The plan orders them before other accesses, but not before tensor memory is freed.
  void addTensorAccesses(nv::WarpsOp role, llvm::SmallPtrSetImpl<void *> &memories) {
    role.walk([&](nv::HardwareOpInterface op) {
      SmallVector<nv::HardwareAccess> accesses;
      if (!productQueue(op))
        op.getAccesses(accesses);
      for (const nv::HardwareAccess &access : accesses)
        if (tile::spaceOf(cast<MemRefType>(access.memref.getType())) == tile::Space::Tensor)
          memories.insert(memoryOf(access.memref));
    });
  }

  void visit(mlir::Block &block, Pending &pending) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, pending);
  }

  void visit(Operation *op, Pending &pending) {
    if (isa<nv::SyncOp, nv::ClusterSyncOp>(op))
      return meetAt(op, pending);
    if (isa<nv::ProxyFenceOp>(op))
      return pending.fence();
    if (auto warps = dyn_cast<nv::WarpsOp>(op)) {
      // The plan of their loop orders what roles access, but for operations that are one
      // statement.
      bool other = warps->hasAttr(nv::NVDialect::roleAttr);
      Pending own;
      visit(warps.getBody().front(), other ? own : pending);
      if (other)
        addTensorAccesses(warps, pending.inRoles);
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
        // Rounds are blocks, which have no order.
        if (op->hasAttr(nv::NVDialect::takesOverAttr))
          pending.forget(tensors);
        pending.merge(skipped);
      }
      return;
    }
    Pending accesses = accessesOf(op);
    if (accesses.reads.empty() && accesses.writes.empty() && accesses.atomics.empty())
      return;
    auto queue = productQueue(op);
    auto number = [&](StringRef attribute) -> std::optional<int64_t> {
      auto found = op->getAttrOfType<IntegerAttr>(attribute);
      return found ? std::optional(found.getInt()) : std::nullopt;
    };
    std::optional<int64_t> loop = number(nv::NVDialect::plannedAttr);
    std::optional<int64_t> group = number(nv::NVDialect::groupAttr);
    Pending before = pending.seenBy(loop, group);
    bool fence = queue && llvm::any_of(accesses.reads, [&](void *memory) {
                   return before.unfenced.contains(memory);
                 });
    bool freed = isa<nv::TensorDeallocOp>(op) && llvm::any_of(accesses.writes, [&](void *memory) {
                   return pending.inRoles.contains(memory);
                 });
    if (fence || freed || accesses.conflicts(before)) {
      unordered = true;
      if (inserts)
        insertBefore(issueOf(op), fence);
      if (fence)
        pending.fence();
      meetAt(op, pending);
    }
    // All threads wait for a product by tcgen05, here or where its plan says.
    if (queue == nv::Queue::Tensor || isa<nv::TensorDeallocOp>(op))
      return;
    if (!queue) {
      accesses.unfenced = accesses.writes;
      for (auto [memory, kinds] : accesses.atomics)
        accesses.unfenced.insert(memory);
    }
    (loop ? pending.planned[*loop] : pending).merge(accesses);
    if (group)
      pending.groups[*group].merge(accesses);
  }

  std::vector<Inserted> inserted;
  bool inserts = true;    ///< or only looks for accesses that are unordered
  bool unordered = false; ///< whether there are any

  func::FuncOp kernel;
  llvm::SmallPtrSet<void *, 8> tensors;
  llvm::SmallPtrSet<void *, 8> disjoint; ///< tensors whose elements are accessed once
};

struct InsertSyncs : penstock::impl::InsertSyncsBase<InsertSyncs> {
  void runOnKernel() override { Inserter(getOperation()).run(); }
};

} // namespace
