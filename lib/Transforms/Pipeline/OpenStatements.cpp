//===- OpenStatements.cpp - The pass tile-open-statements -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A role is stated for a group of operations. As one statement, they would wait for
// everything that any of them needs, and no engine could take a single copy or product
// out of it.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock {
#define GEN_PASS_DEF_OPENSTATEMENTS
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

/// Returns whether a stated schedule still fits after a group was opened: it has an entry for the
/// group.
bool keepsNumberOfStatements(tile::StatementOp group) {
  int64_t statements = 0;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (op.getNumRegions() != 0 && !isa<tile::MapOp>(op))
      return false;
    statements += !isMemoryEffectFree(&op);
  }
  return statements == 1;
}

struct OpenStatements : penstock::impl::OpenStatementsBase<OpenStatements> {
  void runOnOperation() override {
    SmallVector<tile::StatementOp> groups;
    getOperation()->walk([&](tile::StatementOp group) {
      auto loop = group->getParentOfType<scf::ForOp>();
      auto schedule = loop
                          ? loop->getAttrOfType<tile::ScheduleAttr>(tile::TileDialect::scheduleAttr)
                          : tile::ScheduleAttr();
      if (group->hasAttr(tile::TileDialect::roleAttr) && schedule &&
          (schedule.getStage().empty() || keepsNumberOfStatements(group)))
        groups.push_back(group);
    });
    for (tile::StatementOp group : groups) {
      Attribute role = group->getAttr(tile::TileDialect::roleAttr);
      mlir::Block &body = group.getBody().front();
      body.walk([&](Operation *op) {
        if (!op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op))
          op->setAttr(tile::TileDialect::roleAttr, role);
      });
      body.getTerminator()->erase();
      group->getBlock()->getOperations().splice(group->getIterator(), body.getOperations());
      group.erase();
    }
  }
};

} // namespace
