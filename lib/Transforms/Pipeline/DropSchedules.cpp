//===- DropSchedules.cpp - The pass tile-drop-schedules -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Transforms/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_DROPSCHEDULES
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct DropSchedules : penstock::impl::DropSchedulesBase<DropSchedules> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      op->removeDiscardableAttr(tile::TileDialect::scheduleAttr);
      op->removeDiscardableAttr(tile::TileDialect::scheduledAttr);
    });
  }
};

} // namespace
