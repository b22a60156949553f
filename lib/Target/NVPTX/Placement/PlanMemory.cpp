//===- PlanMemory.cpp - The pass nv-plan-memory ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matmul keeps shared memory for the tiles of its loop and for the result that it
// stores, and never needs both at once. Memory that is used twice lets more blocks share
// a multiprocessor, or rings be deeper.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Placement/SharedTiles.h"
#include "Target/NVPTX/Plans/OpenRings.h"

namespace penstock {
#define GEN_PASS_DEF_PLANMEMORY
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using nvptx::SharedAllocation;

namespace {

struct Placed {
  tile::AllocOp tile;
  SharedAllocation at;
};

/// Returns whether \p tile is free at all uses of \p later.
bool precedes(tile::AllocOp tile, tile::AllocOp later) {
  SmallVector<Operation *> users;
  nvptx::usersOf(later.getResult(), users);
  return !users.empty() &&
         llvm::all_of(users, [&](Operation *user) { return nvptx::isFreedBefore(tile, user); });
}

bool mayShare(tile::AllocOp a, tile::AllocOp b) { return precedes(a, b) || precedes(b, a); }

/// Returns whether any access to a tile satisfies a condition; threads' accesses have none.
bool anyAccess(tile::AllocOp tile, llvm::function_ref<bool(const nv::HardwareAccess *)> isSuch) {
  SmallVector<Operation *> users;
  nvptx::usersOf(tile.getResult(), users);
  return llvm::any_of(users, [&](Operation *user) {
    auto hardware = dyn_cast<nv::HardwareOpInterface>(user);
    if (!hardware || isa<nv::AsyncCopyOp>(user)) // threads also write by cp.async
      return !isa<memref::DeallocOp>(user) && isSuch(nullptr);
    SmallVector<nv::HardwareAccess> accesses;
    hardware.getAccesses(accesses);
    return llvm::any_of(accesses, [&](const nv::HardwareAccess &access) {
      return tile::rootOf(access.memref) == tile.getResult() && isSuch(&access);
    });
  });
}

bool isAccessedByThreads(tile::AllocOp tile) {
  return anyAccess(tile, [](const nv::HardwareAccess *engine) { return !engine; });
}

bool isWrittenByEngines(tile::AllocOp tile) {
  return anyAccess(tile, [](const nv::HardwareAccess *engine) { return engine && engine->writes; });
}

/// Returns whether warps other than the compute warps access a tile.
bool isAccessedByRoles(tile::AllocOp tile) {
  SmallVector<Operation *> users;
  nvptx::usersOf(tile.getResult(), users);
  return llvm::any_of(users, [](Operation *user) {
    auto warps = user->getParentOfType<nv::WarpsOp>();
    return warps && warps->hasAttr(nv::NVDialect::roleAttr);
  });
}

/// The first offset at which a tile meets none of those that it may not share memory with.
int64_t firstFit(const Placed &next, ArrayRef<Placed> placed) {
  SmallVector<const SharedAllocation *> taken;
  for (const Placed &other : placed)
    if (!mayShare(next.tile, other.tile))
      taken.push_back(&other.at);
  llvm::sort(taken, [](auto *a, auto *b) { return a->offset < b->offset; });
  int64_t offset = 0;
  for (const SharedAllocation *other : taken) {
    if (offset + next.at.bytes() <= other->offset)
      break;
    offset = std::max(offset, int64_t(llvm::alignTo(uint64_t(other->end()),
                                                    uint64_t(next.at.layout.alignment()))));
  }
  return offset;
}

struct PlanMemory : penstock::impl::PlanMemoryBase<PlanMemory> {
  void runOnKernel() override {
    SmallVector<tile::AllocOp> tiles = nvptx::sharedTiles(getOperation());
    SmallVector<Placed> placed;
    // The strictest alignment first: no gaps.
    for (int64_t alignment : {1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1})
      for (tile::AllocOp tile : tiles) {
        Placed next{tile, nvptx::allocationOf(tile)};
        if (next.at.layout.alignment() != alignment)
          continue;
        next.at.offset = firstFit(next, placed);
        placed.push_back(next);
      }
    Builder builder(&getContext());
    for (Placed &each : placed)
      each.tile->setAttr(nv::NVDialect::offsetAttr, builder.getI64IntegerAttr(each.at.offset));
    if (nvptx::isTileProgram(getOperation())) // others state what they mean
      leaveOutWaits(placed);
    releaseTiles(placed);
  }

  /// A loop that adds tiles by TMA ends with a wait until these have been read. It is not needed if
  /// no other tile takes their memory, and the same thread waits later.
  void leaveOutWaits(ArrayRef<Placed> placed) {
    SmallVector<nv::TmaWaitOp> unneeded;
    getOperation().walk([&](nv::TmaWaitOp wait) {
      auto loop = dyn_cast_or_null<scf::ForOp>(wait->getPrevNode());
      if (!loop || !waitsLater(wait))
        return;
      bool taken = false;
      loop.walk([&](nv::TmaStoreOp store) {
        Value root = tile::rootOf(store.getSource());
        for (const Placed &tile : placed)
          taken |=
              root.getDefiningOp() == tile.tile &&
              llvm::any_of(placed, [&](const Placed &later) { return takesMemoryOf(later, tile); });
      });
      if (!taken)
        unneeded.push_back(wait);
    });
    for (nv::TmaWaitOp wait : unneeded)
      wait.erase();
  }

  /// Returns whether the thread of a wait always executes a later wait.
  static bool waitsLater(nv::TmaWaitOp wait) {
    nv::ThreadScope own = nv::scopeOf(wait);
    auto waits = [&](Operation &op) {
      auto other = dyn_cast<nv::TmaWaitOp>(op);
      nv::ThreadScope scope = nv::scopeOf(&op);
      return other && other.getPending() == 0 && scope.firstWarp == own.firstWarp &&
             scope.warps == own.warps;
    };
    Operation *at = wait;
    for (; isa<nv::WarpsOp, nv::TmaWaitOp>(at); at = at->getParentOp())
      for (Operation *next = at->getNextNode(); next; next = next->getNextNode())
        if (auto warps = dyn_cast<nv::WarpsOp>(next);
            waits(*next) || (warps && llvm::any_of(warps.getBody().front(), waits)))
          return true;
    return false;
  }

  /// Lets threads meet where the memory of tiles becomes that of others. Engines that write it
  /// need a fence after accesses by threads. From here on, offsets say all that deallocations
  /// said.
  void releaseTiles(ArrayRef<Placed> placed) {
    SmallVector<memref::DeallocOp> frees;
    getOperation().walk([&](memref::DeallocOp free) { frees.push_back(free); });
    llvm::MapVector<Operation *, bool> meetings; // in front of which operation, with a fence?
    for (memref::DeallocOp free : frees) {
      auto alloc = free.getMemref().getDefiningOp<tile::AllocOp>();
      const Placed *tile =
          llvm::find_if(placed, [&](const Placed &each) { return each.tile == alloc; });
      Operation *next = free->getNextNode();
      while (isa<memref::DeallocOp>(next))
        next = next->getNextNode();
      for (const Placed &later : placed) {
        if (tile == placed.end() || !takesMemoryOf(later, *tile))
          continue;
        bool fence = isAccessedByThreads(tile->tile) && isWrittenByEngines(later.tile);
        bool known = free->hasAttr(nv::NVDialect::syncedAttr) ||
                     (free->hasAttr(nv::NVDialect::endedAttr) && !isAccessedByRoles(later.tile));
        if (fence || !known)
          meetings[next] |= fence;
      }
    }
    for (auto [next, fence] : meetings) {
      OpBuilder b(next);
      if (fence)
        nv::ProxyFenceOp::create(b, next->getLoc());
      nv::SyncOp::create(b, next->getLoc());
    }
    for (memref::DeallocOp free : frees)
      free.erase();
  }

  static bool takesMemoryOf(const Placed &later, const Placed &tile) {
    return later.at.offset < tile.at.end() && tile.at.offset < later.at.end() &&
           precedes(tile.tile, later.tile);
  }
};

} // namespace
