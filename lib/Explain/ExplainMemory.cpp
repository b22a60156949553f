//===- ExplainMemory.cpp - Use of shared memory by tiles ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explain/ExplainMemory.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/Locations.h"
#include "Dialect/Tile/TileTypes.h"
#include "Layout/BankConflicts.h"
#include "Layout/MatrixStore.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "Target/NVPTX/Placement/SharedTiles.h"

using namespace mlir;
using namespace penstock;

namespace {

/// "`acc`", or what it is if it has no name.
std::string shortName(tile::AllocOp tile) {
  std::string name = tile::nameOf(tile.getResult());
  return name.empty() ? tile::describe(tile.getResult()) : "`" + name + "`";
}

std::string bytesOfTiles(func::FuncOp kernel) {
  SmallVector<tile::AllocOp> tiles = nvptx::sharedTiles(kernel);
  std::string shared;
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    nvptx::SharedAllocation at = nvptx::allocationOf(tile);
    std::string others;
    for (tile::AllocOp other : ArrayRef(tiles).take_front(i))
      if (nvptx::SharedAllocation of = nvptx::allocationOf(other);
          at.offset < of.end() && of.offset < at.end())
        others += (others.empty() ? "" : ", ") + shortName(other);
    if (!others.empty())
      shared += "; " + shortName(tile) + " shares memory with " + others;
  }
  if (tiles.empty())
    return "";
  return "  tiles in shared memory: " + std::to_string(sharedBytes(kernel)) + " bytes" + shared +
         "\n";
}

/// Rows and columns of a view as rows and columns of its tile.
struct SharedView {
  layout::SharedTile tile;
  bool transposed = false;
  int64_t byteOf(int64_t row, int64_t col) const {
    return transposed ? tile.byteOffset(col, row) : tile.byteOffset(row, col);
  }
};

/// A whole tile, a slot of a ring, or a transposed one.
std::optional<SharedView> sharedView(Value memref) {
  SharedView view;
  while (Operation *op = memref.getDefiningOp()) {
    if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
      if (tile::spaceOf(cast<MemRefType>(memref.getType())) != tile::Space::Shared)
        return std::nullopt;
      view.tile = nvptx::allocationOf(alloc).layout;
      return view;
    }
    if (auto slot = dyn_cast<memref::SubViewOp>(op);
        slot && slot.getSourceType().getRank() == slot.getType().getRank())
      return std::nullopt; // a part of a tile
    if (isa<memref::TransposeOp>(op))
      view.transposed = !view.transposed;
    else if (!isa<memref::SubViewOp, memref::CastOp>(op))
      return std::nullopt;
    memref = op->getOperand(0);
  }
  return std::nullopt;
}

std::string conflictsText(const std::string &what, const layout::TileAccesses &accesses) {
  auto [taken, least] = accesses.wavefronts;
  return "  " + what + " " + std::to_string(accesses.bytes) +
         " bytes at a time: " + std::to_string(taken) + " wavefronts" +
         (taken == least ? ", no bank conflicts"
                         : ", " + std::to_string(least) + " without bank conflicts") +
         "\n";
}

/// Copies between registers and shared memory, and from layout to layout through it.
std::string bankConflicts(func::FuncOp kernel) {
  std::vector<std::string> lines;
  bool stmatrix = nvptx::architectureOf(kernel).tma; // both require sm_90
  kernel.walk([&](tile::CopyOp copy) {
    const layout::Distribution *from = nv::layoutOf(copy.getSource()),
                               *to = nv::layoutOf(copy.getTarget());
    auto type = cast<MemRefType>(copy.getSource().getType());
    int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
    auto add = [&](const std::string &what, const layout::Distribution &layout, int64_t bytes,
                   const std::function<int64_t(int64_t, int64_t)> &byteOf) {
      std::string line = conflictsText(what, layout::accessesOf(layout, bytes, byteOf));
      if (!llvm::is_contained(lines, line))
        lines.push_back(line);
    };
    std::string source = tile::describe(copy.getSource()),
                target = tile::describe(copy.getTarget());
    if (from && to && !(*from == *to)) {
      int64_t columns = type.getShape().empty() ? 1 : type.getShape().back();
      auto linear = [&](int64_t row, int64_t col) { return (row * columns + col) * bytes; };
      add("converting " + source + " writes", *from, bytes, linear);
      add("converting " + source + " reads", *to, bytes, linear);
    }
    auto shared = from ? sharedView(copy.getTarget())
                  : to ? sharedView(copy.getSource())
                       : std::nullopt;
    if (!shared)
      return;
    auto byteOf = [&](int64_t row, int64_t col) { return shared->byteOf(row, col); };
    if (from && stmatrix && !shared->transposed)
      if (auto pieces = layout::matrixStorePieces(*from, shared->tile)) {
        add("stmatrix of " + target + " takes", *pieces, 2, byteOf);
        return;
      }
    int64_t stored = shared->tile.elementBits / 8;
    add(from ? "writing " + target + " takes" : "reading " + source + " takes", from ? *from : *to,
        std::max<int64_t>(1, stored), byteOf);
  });
  return llvm::join(lines, "");
}

} // namespace

int64_t penstock::sharedBytes(func::FuncOp kernel) {
  int64_t bytes = 0;
  for (tile::AllocOp tile : nvptx::sharedTiles(kernel))
    bytes = std::max(bytes, nvptx::allocationOf(tile).end());
  return bytes;
}

std::string penstock::explainMemory(func::FuncOp kernel) {
  return bytesOfTiles(kernel) + bankConflicts(kernel);
}
