//===- TileMemory.cpp - Memory use of a kernel's tiles --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Loop/TileMemory.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Scheduling/Schedule/Report.h"

#include <map>

using namespace mlir;
using namespace penstock;

namespace {

/// Size of one version of a tile, in the unit of its space.
struct Need {
  sched::Space space;
  int64_t size;
};

bool isAccumulator(Value tile) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    auto gemm = dyn_cast<tile::GemmOp>(user);
    return gemm && gemm.getAcc() == tile;
  });
}

Need needOf(Value tile, const hw::Architecture &architecture) {
  auto type = cast<MemRefType>(tile.getType());
  int64_t element = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  int64_t bytes = type.getNumElements() * element;
  // A CPU has one memory for all tiles.
  if (tile::spaceOf(type) == tile::Space::Shared || architecture.limits.tileBytes)
    return {sched::Space::Shared, bytes};
  // Products of the tensor core end in tensor memory: 128 lanes, and a column
  // for each 4 bytes of a row.
  if (architecture.limits.tensorColumns && type.getRank() == 2 && isAccumulator(tile))
    return {sched::Space::Tensor, llvm::divideCeilSigned(type.getDimSize(0), 128) *
                                      llvm::divideCeilSigned(type.getDimSize(1) * element, 4)};
  return {sched::Space::Local, bytes};
}

/// Returns the capacity of each space; 0 if no limit is known.
std::map<sched::Space, int64_t> roomOf(const hw::Architecture &architecture) {
  const hw::Limits &limits = architecture.limits;
  return {{sched::Space::Shared, limits.sharedBytesPerBlock + limits.tileBytes},
          {sched::Space::Tensor, limits.tensorColumns}};
}

/// The last pipelined loop of a kernel that is entered once.
scf::ForOp lastPipeline(func::FuncOp kernel) {
  scf::ForOp last;
  for (auto loop : kernel.getBody().front().getOps<scf::ForOp>())
    if (loop->hasAttr(tile::TileDialect::scheduleAttr))
      last = loop;
  return last;
}

/// When shared tiles of a GPU are accessed: tiles that are accessed only after the last
/// pipelined loop take memory of those of pipelined loops that are not accessed after it.
struct Lifetime {
  bool before = false; ///< that loop, or in it
  bool after = false;
};

Lifetime lifetimeOf(tile::AllocOp tile, scf::ForOp last, const hw::Architecture &architecture) {
  if (!last || architecture.limits.tileBytes ||
      tile::spaceOf(cast<MemRefType>(tile.getResult().getType())) != tile::Space::Shared)
    return {true, true};
  Lifetime lifetime;
  bool pipelined = false;
  SmallVector<Operation *> users(tile->getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (isa<ViewLikeOpInterface>(user)) {
      llvm::append_range(users, user->getUsers());
      continue;
    }
    Operation *at = last->getBlock()->findAncestorOpInBlock(*user);
    (at && last->isBeforeInBlock(at) ? lifetime.after : lifetime.before) = true;
    pipelined |= at && at->hasAttr(tile::TileDialect::scheduleAttr);
  }
  lifetime.after |= lifetime.before && !pipelined;
  return lifetime;
}

} // namespace

std::vector<penstock::Diagnostic> penstock::checkTileMemory(func::FuncOp kernel,
                                                            const hw::Architecture &architecture) {
  std::vector<penstock::Diagnostic> found;
  scf::ForOp last = lastPipeline(kernel);
  for (auto [space, room] : roomOf(architecture)) {
    int64_t needed = 0, before = 0, after = 0;
    std::pair<int64_t, tile::AllocOp> largest{-1, {}};
    kernel.walk([&](tile::AllocOp alloc) {
      Need need = needOf(alloc.getResult(), architecture);
      if (need.space != space)
        return;
      Lifetime lifetime = lifetimeOf(alloc, last, architecture);
      if (lifetime.before && lifetime.after)
        needed += need.size;
      else
        (lifetime.after ? after : before) += need.size;
      if (need.size > largest.first)
        largest = {need.size, alloc};
    });
    needed += std::max(before, after);
    if (!room || needed <= room)
      continue;
    penstock::Diagnostic d;
    d.code = MemoryLimit;
    d.location = tile::sourceLocationOf(largest.second->getLoc());
    std::string kind =
        architecture.limits.tileBytes ? "" : sched::spaceName(space) + std::string(" ");
    d.message = "the tiles of `" + kernel.getName().str() + "` need " +
                sched::sizeText(space, needed) + " of " + kind + "memory; " + architecture.name +
                " has " + sched::sizeText(space, room);
    d.label = tile::describe(largest.second.getResult()) + " is the largest, with " +
              sched::sizeText(space, largest.first);
    d.helps.push_back("let each block work on smaller tiles");
    found.push_back(std::move(d));
  }
  return found;
}

int64_t penstock::stagedColumns(MemRefType accumulator, Type stored, bool inTensorMemory) {
  int64_t columns = accumulator.getDimSize(1);
  if (!inTensorMemory)
    return columns;
  // The widest box that is swizzled, in whole parts of the accumulator.
  int64_t width = 64 * 8 / stored.getIntOrFloatBitWidth();
  while (columns % width)
    width /= 2;
  return width;
}

/// Registers for versions of tiles: those of the warpgroups that the rows of tiles occupy, less
/// what addresses and temporaries take. Tiles themselves may lie elsewhere (nv-assign-spaces).
static int64_t registerBytes(const sched::Problem &problem, ArrayRef<Value> roots,
                             const hw::Architecture &architecture) {
  constexpr int64_t warpgroupThreads = 128, registersForTiles = 200, registerSize = 4;
  int64_t rows = 1, used = 0;
  for (auto [buffer, root] : llvm::zip_equal(problem.buffers, roots))
    if (buffer.space == sched::Space::Local && root) {
      auto type = cast<MemRefType>(root.getType());
      used += buffer.bytes;
      if (type.getRank() == 2)
        rows = std::max(rows, type.getDimSize(0));
    }
  // A warpgroup has 64 rows of wgmma, and all 128 lanes of tensor memory.
  int64_t groups = llvm::divideCeilSigned(rows, architecture.limits.tensorColumns ? 128 : 64);
  return std::max(used, groups * warpgroupThreads * registersForTiles * registerSize);
}

void penstock::assignCapacity(PipelineLoop &loop, const hw::Architecture &architecture) {
  for (auto [buffer, root] : llvm::zip(loop.problem.buffers, loop.buffers)) {
    if (buffer.space == sched::Space::Global)
      continue;
    Need need = needOf(root, architecture);
    buffer.space = need.space;
    buffer.bytes = need.size;
  }
  auto kernel = loop.loop->getParentOfType<func::FuncOp>();
  scf::ForOp last = lastPipeline(kernel);
  for (auto [space, room] : roomOf(architecture)) {
    if (!room)
      continue;
    kernel.walk([&](tile::AllocOp alloc) {
      Need need = needOf(alloc.getResult(), architecture);
      // The loop counts its own tiles, with their versions.
      Lifetime lifetime = lifetimeOf(alloc, last, architecture);
      bool shares = loop.loop->getParentOp() == kernel && lifetime.after && !lifetime.before;
      if (need.space == space && !shares && !llvm::is_contained(loop.buffers, alloc.getResult()))
        room -= need.size;
    });
    // Whole KiB of a CPU's: ten digits would be unreadable in a message.
    if (architecture.limits.tileBytes)
      room -= room % 1024;
    loop.problem.capacity[size_t(space)] = std::max<int64_t>(room, 1);
  }
  if (loop.annotations.solverSeconds && architecture.tma)
    loop.problem.capacity[size_t(sched::Space::Local)] =
        registerBytes(loop.problem, loop.buffers, architecture);
}
