//===- SharedTiles.cpp - Tiles in a block's shared memory -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Placement/SharedTiles.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Threads/Elements.h"

using namespace mlir;
using namespace penstock;

/// Returns whether an engine reads or writes the tile in its own layout.
static bool isEngineUse(Operation *op, Value memref) {
  SmallVector<nv::HardwareAccess> accesses;
  if (auto hardware = dyn_cast<nv::HardwareOpInterface>(op))
    hardware.getAccesses(accesses);
  return isa<tile::GemmOp>(op) || llvm::any_of(accesses, [&](const nv::HardwareAccess &access) {
           return access.memref == memref && access.engineLayout;
         });
}

static bool usedByEngines(Value memref) {
  return llvm::any_of(memref.getUsers(), [&](Operation *user) {
    if (isEngineUse(user, memref))
      return true;
    return isa<memref::CastOp, memref::SubViewOp, memref::TransposeOp>(user) &&
           usedByEngines(user->getResult(0));
  });
}

nvptx::SharedAllocation nvptx::allocationOf(tile::AllocOp tile) {
  auto type = cast<MemRefType>(tile.getResult().getType());
  int64_t rank = type.getRank();
  SharedAllocation allocation;
  allocation.layout.rows = rank > 1 ? type.getDimSize(rank - 2) : 1;
  allocation.layout.cols = rank ? type.getDimSize(rank - 1) : 1;
  allocation.layout.elementBits = int(storedAs(type.getElementType()).getIntOrFloatBitWidth());
  allocation.layout.linear = true;
  // Rows without a whole number of 16 bytes: only threads copy them, to a plain tile.
  auto layout = nv::sharedLayoutOf(type);
  if (layout && usedByEngines(tile.getResult()))
    allocation.layout = *layout;
  // Slots of a ring begin where the pattern of their swizzle does.
  allocation.slotBytes = allocation.layout.bytes();
  if (rank > 2)
    allocation.slotBytes = int64_t(
        llvm::alignTo(uint64_t(allocation.slotBytes), uint64_t(allocation.layout.alignment())));
  for (int64_t dim = 0; dim + 2 < rank; ++dim)
    allocation.slots *= type.getDimSize(dim);
  if (auto offset = tile->getAttrOfType<IntegerAttr>(nv::NVDialect::offsetAttr))
    allocation.offset = offset.getInt();
  return allocation;
}

SmallVector<tile::AllocOp> nvptx::sharedTiles(func::FuncOp kernel) {
  SmallVector<tile::AllocOp> tiles;
  kernel.walk([&](tile::AllocOp tile) {
    if (tile::spaceOf(cast<MemRefType>(tile.getResult().getType())) == tile::Space::Shared)
      tiles.push_back(tile);
  });
  return tiles;
}

bool nvptx::isFreedBefore(tile::AllocOp tile, Operation *op) {
  return llvm::any_of(tile->getUsers(), [&](Operation *free) {
    if (!isa<memref::DeallocOp>(free))
      return false;
    Operation *at = free->getBlock()->findAncestorOpInBlock(*op);
    return at && free->isBeforeInBlock(at);
  });
}
