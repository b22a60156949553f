//===- Block.cpp - Kernels by what one block occupies, for timing ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Block.h"

#include <algorithm>

namespace penstock::timing {

Kernel blockKernel(const BlockRun &run) {
  Kernel kernel;
  kernel.loop.roles = {{"all", 4}};
  Op busy, waiting;
  busy.engine = run.busiest;
  busy.cycles = busy.productCycles = std::min(run.busy, run.cycles);
  busy.products = 1;
  busy.blocking = waiting.blocking = true;
  waiting.cycles = run.cycles - busy.cycles;
  kernel.loop.ops = {busy, waiting};
  kernel.needs = run.needs;
  kernel.raster.tilesM = int64_t(run.blocks);
  kernel.raster.ownBytes = run.bytes / run.blocks;
  kernel.raster.totalBytes = run.bytes;
  kernel.fabricBytes = std::max(run.bytes, run.asked) / run.blocks;
  kernel.trips = 1;
  kernel.moreTensorCycles = run.busiest == Engine::Tensor ? 0 : run.tensor;
  return kernel;
}

} // namespace penstock::timing
