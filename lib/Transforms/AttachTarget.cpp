//===- AttachTarget.cpp - The pass tile-attach-target ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Target.h"
#include "Dialect/Tile/TileDialect.h"
#include "Transforms/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_ATTACHTARGET
#include "Transforms/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct AttachTarget : penstock::impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel->hasAttr(tile::TileDialect::kernelAttr))
      tile::setTarget(kernel, target); // the verifier rejects unknown names
  }
};

} // namespace
