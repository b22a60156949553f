//===- RegisterPool.cpp - Registers that warpgroups pass to each other ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A request for registers waits until others have released enough of them, and
// the assembler ignores both where it does not know what a thread starts with. So
// the number at the start is stated, and what is asked for is added up here.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/RegisterPool.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Hardware/Architecture.h"
#include "Target/NVPTX/Binding/RegisterNeeds.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Registers are handed out by eights, and a thread can name 255.
static constexpr int64_t mostAtStart = 248;

LogicalResult nvptx::shareRegisters(func::FuncOp kernel, const hw::Architecture &architecture,
                                    DeviceKernel &result) {
  SmallVector<Operation *> changes;
  kernel.walk([&](Operation *op) {
    if (isa<nv::RegistersRequestOp, nv::RegistersReleaseOp>(op))
      changes.push_back(op);
  });
  if (changes.empty())
    return success();
  auto countOf = [](Operation *op) {
    auto request = dyn_cast<nv::RegistersRequestOp>(op);
    return int64_t(request ? request.getCount() : cast<nv::RegistersReleaseOp>(op).getCount());
  };
  int64_t pool = architecture.limits.registersPerBlock;
  int64_t start = std::min(mostAtStart, registersOfThread(result.threads, architecture));
  for (Operation *op : changes)
    if (isa<nv::RegistersRequestOp>(op))
      start = std::min(start, countOf(op));
  int64_t warps = result.threads / nv::warpSize;
  SmallVector<int64_t> held(size_t(warps), start);
  Operation *last = nullptr;
  for (Operation *op : changes) {
    if (isa<nv::RegistersReleaseOp>(op) && countOf(op) > start) {
      auto diagnostic = tile::emitCoded(op, HardwareMemory)
                        << "`registers.release` keeps " << countOf(op)
                        << " registers, and a thread starts with " << start;
      tile::attachHelp(diagnostic)
          << "a block of " << result.threads << " threads shares " << pool << " registers";
      return diagnostic;
    }
    if (isa<nv::RegistersRequestOp>(op))
      last = op;
    nv::ThreadScope scope = nv::scopeOf(op);
    for (int64_t warp = scope.firstWarp; warp < scope.firstWarp + scope.warps; ++warp)
      held[size_t(warp)] = countOf(op);
  }
  int64_t asked = 0;
  for (int64_t count : held)
    asked += count * nv::warpSize;
  if (last && asked > start * int64_t(result.threads)) {
    auto diagnostic = tile::emitCoded(last, HardwareMemory)
                      << "`registers.request` would wait forever: the warps ask for " << asked
                      << " registers in all, and the block has " << start * int64_t(result.threads);
    tile::attachHelp(diagnostic) << "a thread starts with " << start
                                 << "; let other warpgroups release some, or request fewer";
    return diagnostic;
  }
  result.registers = unsigned(start);
  return success();
}
