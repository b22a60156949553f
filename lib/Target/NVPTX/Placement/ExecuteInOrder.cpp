//===- ExecuteInOrder.cpp - Tile programs by all threads, in order --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All threads execute the operations that nv-write-plans has not assigned to engines, in
// program order. The program permits overlap but does not require it, so asynchronous
// operations may complete immediately, and waits are no-ops.
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

/// The plan of a loop orders a statement before and behind others, not inside.
void markGroup(tile::StatementOp statement, Attribute loop, int64_t number) {
  Attribute group = Builder(statement.getContext()).getI64IntegerAttr(number);
  statement.getBody().walk([&](Operation *op) {
    if (!isa<tile::TileAccessOpInterface, tile::ParallelOp>(op))
      return;
    op->setAttr(nv::NVDialect::plannedAttr, loop);
    op->setAttr(nv::NVDialect::groupAttr, group);
  });
}

struct ExecuteInOrder : penstock::impl::ExecuteInOrderBase<ExecuteInOrder> {
  void runOnKernel() override {
    func::FuncOp kernel = getOperation();
    SmallVector<Operation *> dead;
    int64_t groups = 0;
    kernel.walk([&](Operation *op) {
      if (auto statement = dyn_cast<tile::StatementOp>(op)) {
        if (Attribute loop = statement->getAttr(nv::NVDialect::plannedAttr))
          markGroup(statement, loop, groups++);
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
      op->removeDiscardableAttr(tile::TileDialect::formAttr);
      op->removeDiscardableAttr(tile::TileDialect::roleAttr);
    });
    for (Operation *op : dead)
      op->erase();
  }
};

} // namespace
