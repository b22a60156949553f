//===- AddTiles.cpp - The pass nv-add-tiles -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients are sums over blocks, which threads add to memory by one atomic instruction
// for each element. TMA adds a tile by one instruction, while threads go on.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Placement/AddedTile.h"
#include "Target/NVPTX/Placement/SharedTiles.h"
#include "Target/NVPTX/Plans/OpenRings.h"
#include "mlir/IR/Verifier.h"

namespace penstock {
#define GEN_PASS_DEF_ADDTILES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using nvptx::AddedTile;

namespace {

/// Whether an operation itself writes a tile, and whether an engine does.
struct Writes {
  bool any = false, byEngine = false;
};

Writes writesOf(Operation *op, Value root) {
  Writes found;
  if (auto hardware = dyn_cast<nv::HardwareOpInterface>(op)) {
    SmallVector<nv::HardwareAccess> accesses;
    hardware.getAccesses(accesses);
    found.any = llvm::any_of(accesses, [&](const nv::HardwareAccess &access) {
      return access.writes && tile::rootOf(access.memref) == root;
    });
    found.byEngine = found.any && isa<nv::TmaLoadOp>(op);
  } else if (auto accessor = dyn_cast<tile::TileAccessOpInterface>(op)) {
    SmallVector<tile::TileAccess> accesses;
    accessor.getAccesses(accesses);
    found.any = llvm::any_of(accesses, [&](const tile::TileAccess &access) {
      return (access.writes || access.atomic) && tile::rootOf(access.memref) == root;
    });
  }
  return found;
}

bool isSameScope(Operation *a, Operation *b) {
  nv::ThreadScope x = nv::scopeOf(a), y = nv::scopeOf(b);
  return x.firstWarp == y.firstWarp && x.warps == y.warps && !x.oneThread && !y.oneThread;
}

class Adder {
public:
  Adder(func::FuncOp kernel, int64_t limit)
      : kernel(kernel), limit(limit), b(kernel.getContext()) {}

  void run() {
    llvm::MapVector<Value, SmallVector<AddedTile>> byTensor;
    kernel.walk([&](tile::ParallelOp body) {
      std::string reason;
      auto found = nvptx::matchAddedTile(kernel, body, reason);
      if (found && (reason = whyNot(*found)).empty())
        byTensor[found->tensor].push_back(*found);
      else if (!reason.empty())
        leave(body, reason);
    });
    for (auto &[tensor, tiles] : byTensor)
      if (isOnlyAdded(tensor, tiles))
        for (const AddedTile &added : tiles)
          add(added);
      else
        for (const AddedTile &added : tiles)
          leave(added.body, tile::describe(tensor) + " is also accessed in other ways, which "
                                                     "additions by TMA are not ordered with");
  }

private:
  void leave(tile::ParallelOp body, StringRef reason) {
    body->setAttr(nvptx::addedByThreadsAttr, b.getStringAttr(reason));
  }

  /// Threads and TMA take different paths to memory, on which not even atomics are ordered.
  bool isOnlyAdded(Value tensor, ArrayRef<AddedTile> tiles) {
    if (auto argument = dyn_cast<BlockArgument>(tensor);
        !argument || kernel.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr))
      return false;
    return llvm::all_of(tensor.getUsers(), [&](Operation *user) {
      return isa<memref::DimOp>(user) || llvm::any_of(tiles, [&](const AddedTile &added) {
               return added.body->isAncestor(user);
             });
    });
  }

  std::string whyNot(const AddedTile &added) {
    if (std::string why = whyIllegal(added); !why.empty())
      return why;
    Value root = tile::rootOf(added.tile);
    if (auto warps = added.body->getParentOfType<nv::WarpsOp>()) {
      bool divided = false;
      warps.walk([&](nv::WarpgroupOp) { divided = true; });
      if (divided)
        return "warpgroups divide the loop's statements";
    }
    SmallVector<Operation *> users;
    nvptx::usersOf(root, users);
    for (Operation *user : users)
      if (Writes writes = writesOf(user, root);
          writes.any && !writes.byEngine && !isSameScope(user, added.body))
        return "other warps write " + tile::describe(root);
    return fits(root.getDefiningOp<tile::AllocOp>())
               ? ""
               : "shared memory is too small for tiles as TMA reads them";
  }

  /// The rule that TMA breaks with; empty if it adds such a tile there.
  std::string whyIllegal(const AddedTile &added) {
    if (!tile::rootOf(added.tile).getDefiningOp<tile::AllocOp>() || !tile::isGlobal(added.tensor) ||
        !isa<BlockArgument>(added.tensor))
      return "TMA adds tiles of shared memory to arguments of the kernel";
    std::string why;
    ScopedDiagnosticHandler listen(kernel.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (why.empty()) // without its code: it is a reason here, not an error
        why = StringRef(diagnostic.str()).split(": ").second.str();
      return success();
    });
    b.setInsertionPoint(added.body);
    Value zero = arith::ConstantIndexOp::create(b, added.body->getLoc(), 0);
    nv::TmaStoreOp trial = storeOp(added, SmallVector<Value>(added.terms.size(), zero));
    if (succeeded(verify(trial)))
      why.clear();
    trial.erase();
    zero.getDefiningOp()->erase();
    return why;
  }

  nv::TmaStoreOp storeOp(const AddedTile &added, ValueRange offsets) {
    return nv::TmaStoreOp::create(b, added.body->getLoc(), added.tile, added.tensor, offsets,
                                  b.getDenseI64ArrayAttr(added.dims), b.getStringAttr("add"),
                                  StringAttr(), DenseI64ArrayAttr());
  }

  /// Returns whether tiles fit if one of them has the layout of engines.
  bool fits(tile::AllocOp staged) {
    int64_t bytes = 0;
    for (tile::AllocOp tile : nvptx::sharedTiles(kernel)) {
      nvptx::SharedAllocation at = nvptx::allocationOf(tile);
      int64_t size = at.bytes(), alignment = at.layout.alignment();
      if (auto layout = nv::sharedLayoutOf(cast<MemRefType>(staged.getResult().getType()));
          tile == staged && layout) {
        alignment = layout->alignment();
        size = at.slots * int64_t(llvm::alignTo(uint64_t(layout->bytes()), uint64_t(alignment)));
      }
      if (!nvptx::isFreedBefore(tile, staged))
        bytes += int64_t(llvm::alignTo(uint64_t(size), uint64_t(alignment)));
    }
    kernel.walk(
        [&](nv::BarrierAllocOp barriers) { bytes += 8 * int64_t(barriers.getCounts().size()); });
    return bytes <= limit;
  }

  void add(const AddedTile &added) {
    loc = added.body->getLoc();
    Value root = tile::rootOf(added.tile);
    Operation *writer = firstOfIteration(added, root);
    fenceBefore(added.body, root);
    SmallVector<Value> offsets = added.offsets();
    b.setInsertionPoint(added.body);
    storeOp(added, offsets);
    nv::TmaCommitOp::create(b, loc);
    if (writer) {
      awaitBefore(writer);
      b.setInsertionPointAfter(added.body->getParentOp());
      awaitRead(b.getInsertionPoint());
    } else if (isLast(added, root)) {
      awaitRead(added.body->getBlock()->getTerminator()->getIterator());
    } else {
      nv::TmaWaitOp::create(b, loc, 0, /*read=*/true);
      nv::SyncOp::create(b, loc); // before the tile is overwritten
    }
    added.body->erase();
  }

  /// Waits until TMA has read all that it adds, unless that has been awaited just before.
  void awaitRead(mlir::Block::iterator at) {
    if (at != at->getBlock()->begin())
      if (auto before = dyn_cast<nv::TmaWaitOp>(*std::prev(at));
          before && before.getRead() && before.getPending() == 0)
        return;
    b.setInsertionPoint(&*at);
    nv::TmaWaitOp::create(b, loc, 0, /*read=*/true);
  }

  /// Returns whether a tile has no writes after its addition.
  static bool isLast(const AddedTile &added, Value root) {
    for (Operation *up = added.body->getParentOp(); !isa<func::FuncOp>(up); up = up->getParentOp())
      if (isa<scf::ForOp, scf::WhileOp>(up))
        return false;
    SmallVector<Operation *> users;
    nvptx::usersOf(root, users);
    return llvm::all_of(users, [&](Operation *user) {
      if (!writesOf(user, root).any)
        return true;
      Operation *at = added.body->getBlock()->findAncestorOpInBlock(*user);
      return at && at->isBeforeInBlock(added.body);
    });
  }

  /// The last barrier before an operation that no write to a tile follows.
  static Operation *barrierBefore(Operation *op, Value root) {
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
      if (isa<nv::SyncOp>(before))
        return before;
      bool writes = false;
      before->walk([&](Operation *inner) { writes |= writesOf(inner, root).any; });
      if (writes)
        return nullptr;
    }
    return nullptr;
  }

  /// Lets TMA see what threads wrote to a tile.
  void fenceBefore(Operation *op, Value root) {
    Operation *barrier = barrierBefore(op, root);
    b.setInsertionPoint(barrier ? barrier : op);
    if (!isa_and_nonnull<nv::ProxyFenceOp>(barrier ? barrier->getPrevNode() : nullptr))
      nv::ProxyFenceOp::create(b, loc);
    if (!barrier)
      nv::SyncOp::create(b, loc);
  }

  /// Lets threads overwrite a tile when TMA has read it.
  void awaitBefore(Operation *writer) {
    Operation *barrier = writer->getPrevNode();
    while (barrier && !isa<nv::SyncOp>(barrier))
      barrier = barrier->getPrevNode();
    b.setInsertionPoint(barrier ? barrier : writer);
    nv::TmaWaitOp::create(b, loc, 0, /*read=*/true);
    if (!barrier)
      nv::SyncOp::create(b, loc);
  }

  /// If the body of a loop writes a tile, then adds it, and nothing else does: the first of the
  /// writes. Otherwise null.
  static Operation *firstOfIteration(const AddedTile &added, Value root) {
    mlir::Block *block = added.body->getBlock();
    auto loop = dyn_cast<scf::ForOp>(added.body->getParentOp());
    if (!loop)
      return nullptr;
    Operation *first = nullptr;
    SmallVector<Operation *> users;
    nvptx::usersOf(root, users);
    for (Operation *user : users) {
      if (isa<nv::TmaStoreOp>(user) ||
          (isa<memref::DeallocOp>(user) && loop->isProperAncestor(user)))
        return nullptr;
      if (!writesOf(user, root).any)
        continue;
      if (user->getBlock() != block || !user->isBeforeInBlock(added.body))
        return nullptr;
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    return first;
  }

  func::FuncOp kernel;
  int64_t limit; ///< bytes of shared memory of a block
  OpBuilder b;
  Location loc = kernel.getLoc();
};

struct AddTiles : penstock::impl::AddTilesBase<AddTiles> {
  void runOnKernel() override {
    if (const hw::Architecture *architecture = nvptx::tmaOf(getOperation()))
      Adder(getOperation(), architecture->limits.sharedBytesPerBlock).run();
  }
};

} // namespace
