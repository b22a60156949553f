//===- NVOps.cpp - Threads and barriers of the hardware -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated definitions of all operations, and the verifiers of NVThreadOps.td and
// NVBarrierOps.td. VerifyCopies.cpp and VerifyProducts.cpp have the others.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/NV/OperandChecks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nv;
using tile::emitCoded;

#define GET_OP_CLASSES
#include "Dialect/NV/NVOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

LogicalResult WarpsOp::verify() {
  auto kernel = (*this)->getParentOfType<func::FuncOp>();
  if ((*this)->getParentOfType<ElectOp>())
    return fail(emitCoded(*this, HardwareScope) << "`warps` stands inside of `elect_one`",
                "one thread has no warps to choose from: call `elect_one` inside of `warps`");
  auto threads =
      kernel ? kernel->getAttrOfType<IntegerAttr>(NVDialect::threadsAttr) : IntegerAttr();
  int64_t warps = threads ? threads.getInt() / warpSize : 0;
  int64_t first = getFirst(), count = getCount();
  if (first < 0 || count < 1)
    return fail(emitCoded(*this, HardwareScope)
                    << "`warps` is asked for " << count << " warps from warp " << first << " on",
                "it takes at least one warp, and warps are counted from 0");
  if (count > warps || first > warps - count)
    return fail(emitCoded(*this, HardwareScope)
                    << "warps " << first << " to " << uint64_t(first) + uint64_t(count) - 1
                    << " are not all in a block of " << warps << " warps",
                warps ? "b.threads(..) states the number of threads"
                      : "state the number of threads first, with b.threads(..)");
  // A choice of warps narrows the one around it, in the same numbers.
  if (auto around = (*this)->getParentOfType<WarpsOp>()) {
    int64_t outer = around.getFirst(), end = outer + int64_t(around.getCount());
    if (first < outer || first + count > end)
      return fail(emitCoded(*this, HardwareScope)
                      << "warps " << first << " to " << first + count - 1
                      << " are not all in the choice around them, " << outer << " to " << end - 1,
                  "warps keep the numbers that they have in the block");
  }
  return success();
}

LogicalResult ElectOp::verify() {
  if ((*this)->getParentOfType<ElectOp>())
    return fail(emitCoded(*this, HardwareScope) << "`elect_one` stands inside of another");
  return success();
}

LogicalResult ClusterRankOp::verify() { return verifyInCluster(*this, "`cluster.rank`"); }
LogicalResult ClusterSyncOp::verify() { return verifyInCluster(*this, "`cluster.sync`"); }

void NamedBarrierAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto label = getLabel())
    setName(getResult(), *label);
}

LogicalResult NamedBarrierAllocOp::verify() {
  auto kernel = (*this)->getParentOfType<func::FuncOp>();
  auto block = kernel ? kernel->getAttrOfType<IntegerAttr>(NVDialect::threadsAttr) : IntegerAttr();
  int64_t threads = getResult().getType().getThreads();
  if (threads >= warpSize && threads % warpSize == 0 && block && threads <= block.getInt())
    return success();
  return fail(emitCoded(*this, HardwareBarrier)
                  << "a named barrier for " << threads << " threads of "
                  << (block ? std::to_string(block.getInt()) : "an unknown number"),
              "whole warps of the block meet there");
}

/// All threads of the scope come, so they cannot be more than the barrier waits
/// for.
static LogicalResult verifyNamedBarrier(Operation *op, Value barrier) {
  int64_t expected = cast<NamedBarrierType>(barrier.getType()).getThreads();
  int64_t coming = scopeOf(op).warps * warpSize;
  if (coming <= expected)
    return success();
  return fail(emitCoded(op, HardwareBarrier)
              << coming << " threads come to a named barrier for " << expected);
}
LogicalResult NamedBarrierSyncOp::verify() { return verifyNamedBarrier(*this, getBarrier()); }
LogicalResult NamedBarrierArriveOp::verify() {
  if (failed(verifyNamedBarrier(*this, getBarrier())))
    return failure();
  // Somebody must be there for whom it opens.
  if (scopeOf(*this).warps * warpSize < getBarrier().getType().getThreads())
    return success();
  return fail(emitCoded(*this, HardwareBarrier)
                  << "all " << getBarrier().getType().getThreads()
                  << " threads of a named barrier arrive and none waits",
              "count the threads that wait as well: a barrier for those of both roles");
}

static LogicalResult verifyRegisters(Operation *op, int64_t count) {
  if (count % 8 || count < 24 || count > 256)
    return fail(emitCoded(op, HardwareMemory) << "`" << op->getName().stripDialect() << "` of "
                                              << count << " registers for each thread",
                "multiples of 8 from 24 to 256 are possible");
  return success();
}
LogicalResult RegistersRequestOp::verify() { return verifyRegisters(*this, getCount()); }
LogicalResult RegistersReleaseOp::verify() { return verifyRegisters(*this, getCount()); }

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void BarrierAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto label = getLabel())
    setName(getResult(), *label);
}

LogicalResult BarrierAllocOp::verify() {
  if (getCounts().empty() || getCounts().size() > 1024 ||
      getResult().getType().getCount() != int64_t(getCounts().size()))
    return fail(emitCoded(*this, HardwareBarrier)
                << getCounts().size() << " barriers; 1 to 1024 are possible");
  for (int64_t count : getCounts())
    if (count < 1 || count >= (1 << 20))
      return fail(emitCoded(*this, HardwareBarrier)
                      << "a barrier that waits for " << count << " arrivals",
                  "a phase has between 1 and 2^20 - 1 of them");
  return success();
}

LogicalResult ArriveOp::verify() {
  APInt bytes;
  if (getBytes() && matchPattern(getBytes(), m_ConstantInt(&bytes)) &&
      (bytes.getSExtValue() < 0 || bytes.getSExtValue() >= (1 << 20)))
    return fail(emitCoded(*this, HardwareBarrier)
                    << "a phase cannot wait for " << bytes.getSExtValue() << " bytes",
                "at most 2^20 - 1 are counted");
  if (getEachWarp() && (getBytes() || scopeOf(*this).oneThread))
    return fail(emitCoded(*this, HardwareBarrier)
                << "an arrival of each warp announces bytes, or is that of one thread");
  if (getCta()) {
    if (failed(verifyInCluster(*this, "an arrival in another block")))
      return failure();
    APInt rank;
    if (matchPattern(getCta(), m_ConstantInt(&rank)) &&
        (rank.getSExtValue() < 0 || rank.getSExtValue() >= clusterSize(*this)))
      return fail(emitCoded(*this, HardwareScope)
                  << "block " << rank.getSExtValue() << " does not exist in a cluster of "
                  << clusterSize(*this));
  }
  return verifyIndex(*this, getBarriers(), getIndex());
}

LogicalResult TryWaitOp::verify() {
  if (auto time = getNanoseconds(); time && (*time < 1 || *time > UINT32_MAX))
    return fail(emitCoded(*this, HardwareBarrier)
                    << "`mbarrier.try_wait` sleeps for " << *time << " nanoseconds",
                "the time is a positive number of 32 bits");
  return verifyIndex(*this, getBarriers(), getIndex());
}

LogicalResult WaitOp::verify() { return verifyIndex(*this, getBarriers(), getIndex()); }
