//===- ExecuteInOrder.cpp - Tile programs by all threads, in order --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form that every tile program has: one group of warps executes all
// statements in program order. What the program says about overlap is
// permission, not obligation, so that asynchronous operations may complete at
// once and waits have nothing to wait for.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_EXECUTEINORDER
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

struct ExecuteInOrder : penstock::impl::ExecuteInOrderBase<ExecuteInOrder> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(tile::TileDialect::kernelAttr) ||
        kernel->hasAttr(nv::NVDialect::threadsAttr))
      return;
    SmallVector<Operation *> dead;
    kernel.walk([&](Operation *op) {
      if (auto statement = dyn_cast<tile::StatementOp>(op)) {
        mlir::Block &body = statement.getBody().front();
        body.getTerminator()->erase();
        op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
        dead.push_back(op);
      } else if (isa<tile::WaitOp>(op)) {
        dead.push_back(op);
      } else if (auto copy = dyn_cast<tile::CopyOp>(op)) {
        copy.removeAsyncAttr();
      } else if (auto gemm = dyn_cast<tile::GemmOp>(op)) {
        gemm.removeAsyncAttr();
      }
      op->removeDiscardableAttr(tile::TileDialect::scheduleAttr);
    });
    for (Operation *op : dead)
      op->erase();
    auto threads = Builder(&getContext()).getI64IntegerAttr(warpsFor(kernel) * nv::warpSize);
    kernel->setAttr(nv::NVDialect::threadsAttr, threads);
    kernel->setAttr(nv::NVDialect::inOrderAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
