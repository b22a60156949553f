//===- AttachTarget.cpp - Name the GPU that kernels are compiled for ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/Passes.h"

namespace penstock {
#define GEN_PASS_DEF_ATTACHTARGET
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct AttachTarget : penstock::impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(tile::TileDialect::kernelAttr))
      return;
    kernel->setAttr(nv::NVDialect::architectureAttr, StringAttr::get(&getContext(), architecture));
    if (alignedRows)
      kernel->setAttr(nv::NVDialect::alignedRowsAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
