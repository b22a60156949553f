//===- LowerThreads.cpp - Say what each thread of a kernel does -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/LaunchAttribute.h"
#include "Target/NVPTX/Lowering.h"
#include "Target/NVPTX/Passes.h"
#include "Transforms/KernelAbi.h"

namespace penstock {
#define GEN_PASS_DEF_LOWERTHREADS
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;

namespace {

struct LowerThreads : penstock::impl::LowerThreadsBase<LowerThreads> {
  using LowerThreadsBase::LowerThreadsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const hw::Architecture *found = hw::findArchitecture(architecture);
    if (!found) {
      module.emitError() << "unknown architecture " << architecture;
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(tile::TileDialect::kernelAttr))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels) {
      auto launch = module.lookupSymbol<func::FuncOp>((kernel.getName() + abi::launchSuffix).str());
      DeviceKernel result;
      nvptx::Lowering lowering(kernel, launch, *found, result);
      if (failed(lowering.run()))
        return signalPassFailure();
      setLaunchData(module, result);
    }
  }
};

} // namespace
