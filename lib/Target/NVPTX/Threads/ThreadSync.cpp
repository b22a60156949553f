//===- ThreadSync.cpp - Synchronization of a scope's threads --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/ThreadSync.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Threads/LoweringContext.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

LogicalResult nvptx::takeBarrier(LoweringContext &c, Operation *op) {
  if (++c.namedBarriers.next <= 16)
    return success();
  return tile::emitCoded(op, HardwareBarrier)
         << "the kernel needs more than the 16 barriers of a block";
}

void nvptx::nameSync(LoweringContext &c, int64_t barrier) {
  c.result.names.push_back({StorageName::NamedBarrier, "b.sync()", uint32_t(barrier), 1, 0});
}

void nvptx::syncThreads(LoweringContext &c, const ExecutionScope &by) {
  if (by.scope.wholeBlock)
    c.ptx("bar.sync 0;");
  else
    c.ptx(("bar.sync " + Twine(by.barrier) + ", " + Twine(by.scope.warps * nv::warpSize) + ";")
              .str()); // as constants, or the assembler would reserve all barriers
}

void nvptx::syncCluster(LoweringContext &c) {
  c.ptx("barrier.cluster.arrive.release.aligned;");
  c.ptx("barrier.cluster.wait.acquire.aligned;");
}
