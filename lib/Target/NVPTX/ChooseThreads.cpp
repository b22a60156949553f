//===- ChooseThreads.cpp - How many threads execute a tile program --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile program says nothing about threads. One group of warps executes it, with
// enough registers for its local tiles.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_CHOOSETHREADS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Words of 32 bits that local tiles take, all threads together.
int64_t localWords(func::FuncOp kernel) {
  int64_t words = 0;
  kernel.walk([&](tile::AllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    if (tile::spaceOf(type) == tile::Space::Local)
      words += (type.getNumElements() * type.getElementTypeBitWidth() + 31) / 32;
  });
  return words;
}

/// The fewest warps whose registers hold the tiles, with room for addresses and
/// operands. A thread has at most 255 registers, 128 in a block of 512.
int64_t warpsFor(func::FuncOp kernel) {
  int64_t words = localWords(kernel);
  for (int64_t warps : {4, 8})
    if (words <= warps * nv::warpSize * 144)
      return warps;
  return 16;
}

struct ChooseThreads : penstock::impl::ChooseThreadsBase<ChooseThreads> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(tile::TileDialect::kernelAttr) ||
        kernel->hasAttr(nv::NVDialect::threadsAttr))
      return;
    auto threads = Builder(&getContext()).getI64IntegerAttr(warpsFor(kernel) * nv::warpSize);
    kernel->setAttr(nv::NVDialect::threadsAttr, threads);
    kernel->setAttr(nv::NVDialect::inOrderAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
