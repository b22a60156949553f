//===- LowerThreads.cpp - Say what each thread of a kernel does -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
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
  using Base = penstock::impl::LowerThreadsBase<LowerThreads>;
  using Base::Base;
  LowerThreads(const std::string &chip, DeviceKernel &result) : result(&result) {
    architecture = chip;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(tile::TileDialect::kernelAttr))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels) {
      auto launch = module.lookupSymbol<func::FuncOp>((kernel.getName() + abi::launchSuffix).str());
      DeviceKernel unused;
      nvptx::Lowering lowering(kernel, launch, architecture, result ? *result : unused);
      if (failed(lowering.run()))
        return signalPassFailure();
    }
  }

  DeviceKernel *result = nullptr;
};

} // namespace

std::unique_ptr<Pass> penstock::createLowerThreads(const std::string &architecture,
                                                   DeviceKernel &result) {
  return std::make_unique<LowerThreads>(architecture, result);
}
