//===- SharedStorage.cpp - Contents of a block's shared memory ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/SharedStorage.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Views.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

void nvptx::nameStorage(LoweringContext &c, Operation *alloc, StorageName::Kind kind, int64_t first,
                        int64_t size, int64_t slot) {
  std::string name = tile::nameOf(alloc->getResult(0));
  if (name.empty())
    name = "tile of line " + std::to_string(tile::sourceLocationOf(alloc->getLoc()).line);
  c.result.names.push_back({kind, name, uint32_t(first), uint32_t(size), uint32_t(slot)});
}

static void nameBarriers(LoweringContext &c, nv::BarrierAllocOp op) {
  int64_t first = c.shared.barriers.lookup(op.getResult()), count = int64_t(op.getCounts().size());
  // `auto [loaded, multiplied] = ..` names each of them.
  std::string label = tile::nameOf(op.getResult());
  SmallVector<StringRef> names;
  StringRef(label).split(names, ", ");
  if (!label.empty() && int64_t(names.size()) == count) {
    for (auto [i, name] : llvm::enumerate(names))
      c.result.names.push_back(
          {StorageName::Shared, name.str(), uint32_t(first + int64_t(i) * 8), 8, 0});
    return;
  }
  if (label.empty())
    label = "barriers of line " + std::to_string(tile::sourceLocationOf(op.getLoc()).line);
  c.result.names.push_back({StorageName::Shared, label, uint32_t(first), uint32_t(count * 8), 8});
}

/// Returns the scratch bytes for conversions, cross-warp reductions and broadcasts of scalars, by
/// the first warp of their scope, because roles run at the same time.
static std::map<int64_t, int64_t> scratchBytes(LoweringContext &c) {
  std::map<int64_t, int64_t> bytes;
  c.kernel.walk([&](Operation *op) {
    const LoweringTable::Entry *entry = c.table.find(op);
    int64_t needed = entry && entry->scratchBytes ? entry->scratchBytes(op) : 0;
    if (needed) {
      int64_t &most = bytes[nv::scopeOf(op).firstWarp];
      most = std::max(most, needed);
    }
  });
  return bytes;
}

LogicalResult nvptx::placeShared(LoweringContext &c) {
  int64_t offset = 0;
  auto reserve = [&](int64_t bytes, int64_t alignment) {
    offset = (offset + alignment - 1) / alignment * alignment;
    int64_t at = offset;
    offset += bytes;
    return at;
  };
  SmallVector<tile::AllocOp> tiles = sharedTiles(c.kernel);
  for (tile::AllocOp op : tiles) {
    if (!op->hasAttr(nv::NVDialect::offsetAttr))
      return tile::emitCoded(op, ToolUsage)
             << tile::describe(op.getResult()) << " has no offset: run nv-plan-memory before";
    SharedAllocation allocation = allocationOf(op);
    c.shared.tiles[op.getResult()] = allocation;
    offset = std::max(offset, allocation.end());
    bool ring = cast<MemRefType>(op.getResult().getType()).getRank() > 2;
    nameStorage(c, op, StorageName::Shared, allocation.offset, allocation.bytes(),
                ring ? allocation.slotBytes : 0);
  }
  c.kernel.walk([&](nv::BarrierAllocOp op) {
    c.shared.barriers[op.getResult()] = reserve(int64_t(op.getCounts().size()) * 8, 8);
    nameBarriers(c, op);
  });
  for (auto [firstWarp, bytes] : scratchBytes(c))
    c.shared.scratch[firstWarp] = reserve(bytes, 16);
  divideTensorMemory(c);
  int64_t columns = 0;
  for (TensorAllocation &allocation : c.tensorMemory.allocations) {
    allocation.slot = reserve(4, 4);
    columns += allocation.columns;
  }
  int64_t limit = c.architecture.limits.sharedBytesPerBlock;
  if (offset > limit) {
    auto diagnostic = tile::emitCoded(c.kernel, HardwareMemory)
                      << "the kernel's tiles and barriers take " << offset
                      << " bytes of shared memory; a block of " << c.architecture.name << " has "
                      << limit;
    for (tile::AllocOp op : tiles)
      diagnostic.attachNote(op.getLoc()) << tile::describe(op.getResult()) << " takes "
                                         << c.shared.tiles[op.getResult()].bytes() << " bytes";
    tile::attachHelp(diagnostic) << "use fewer stages or smaller tiles";
    return diagnostic;
  }
  if (columns > 512)
    return tile::emitCoded(c.tensorMemory.allocations.back().tiles.back(), HardwareMemory)
           << "the kernel's accumulators take " << columns
           << " columns of tensor memory; there are 512";
  nameSync(c, 0);
  c.result.sharedBytes = uint32_t((offset + 15) / 16 * 16);
  return success();
}

int64_t nvptx::scratchOf(LoweringContext &c, const ExecutionScope &by) {
  return c.shared.scratch.at(by.scope.firstWarp);
}

void nvptx::initializeBarriers(LoweringContext &c) {
  SmallVector<nv::BarrierAllocOp> barriers;
  c.kernel.walk([&](nv::BarrierAllocOp op) { barriers.push_back(op); });
  if (barriers.empty())
    return;
  c.when(c.cmp(arith::CmpIPredicate::eq, c.thread, c.i32(0)), [&] {
    c.shared.initialization = c.builder.getInsertionBlock();
    for (nv::BarrierAllocOp op : barriers)
      for (auto [i, count] : llvm::enumerate(op.getCounts()))
        c.ptx("mbarrier.init.shared::cta.b64 [$0], $1;",
              {sharedAddress(c, c.i32(c.shared.barriers.lookup(op.getResult()) + int64_t(i) * 8)),
               c.i32(count)});
    c.ptx("fence.mbarrier_init.release.cluster;");
  });
}
