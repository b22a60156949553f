//===- LowerBarriers.cpp - Barriers, and what precedes the kernel ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Lowering.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Barriers are initialised by one thread, tensor memory is allocated by one
/// warp; all threads see both before anything else runs.
void Lowering::initialise() {
  SmallVector<nv::BarrierAllocOp> barriers;
  SmallVector<nv::TensorAllocOp> tiles;
  kernel.walk([&](nv::BarrierAllocOp op) { barriers.push_back(op); });
  kernel.walk([&](nv::TensorAllocOp op) { tiles.push_back(op); });
  if (barriers.empty() && tiles.empty())
    return;
  if (!barriers.empty())
    when(cmp(arith::CmpIPredicate::eq, thread, i32(0)), [&] {
      for (nv::BarrierAllocOp op : barriers)
        for (auto [i, count] : llvm::enumerate(op.getCounts()))
          ptx("mbarrier.init.shared::cta.b64 [$0], $1;",
              {sharedAddress(i32(barrierOffsets.lookup(op.getResult()) + int64_t(i) * 8)),
               i32(count)},
              "r,r");
      ptx("fence.mbarrier_init.release.cluster;", {}, "");
    });
  if (!tiles.empty())
    when(cmp(arith::CmpIPredicate::ult, thread, i32(nv::warpSize)), [&] {
      for (nv::TensorAllocOp op : tiles) {
        int64_t columns = allocatedColumns(op.getResult());
        // Who forgets to free it is shown where it was asked for.
        llvm::SaveAndRestore<Location> here(loc, op.getLoc());
        ptx("tcgen05.alloc" + ctaGroup() + ".sync.aligned.shared::cta.b32 [$0], $1;",
            {sharedAddress(i32(tensorSlots.lookup(op.getResult()))), i32(columns)}, "r,r");
      }
      ptx("tcgen05.relinquish_alloc_permit" + ctaGroup() + ".sync.aligned;", {}, "");
    });
  if (pair)
    lowerPairSync();
  Executing all;
  lowerSync(all);
  for (nv::TensorAllocOp op : tiles)
    tensorBases[op.getResult()] = LLVM::LoadOp::create(
        builder, loc, builder.getI32Type(), sharedPointer(i32(tensorSlots.lookup(op.getResult()))));
}

// Barriers that release and acquire order tcgen05 operations like all others; only
// relaxed ones need tcgen05.fence beside them.

void Lowering::lowerPairSync() {
  ptx("barrier.cluster.arrive.release.aligned;", {}, "");
  ptx("barrier.cluster.wait.acquire.aligned;", {}, "");
}

void Lowering::lowerSync(const Executing &by) {
  if (by.scope.wholeBlock)
    ptx("bar.sync 0;", {}, "");
  else
    ptx(("bar.sync " + Twine(by.barrier) + ", " + Twine(by.scope.warps * nv::warpSize) + ";").str(),
        {}, ""); // as constants, or the assembler would reserve all barriers
}

void Lowering::lowerArrive(nv::ArriveOp op) {
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  if (op.getBytes())
    ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", {barrier, asI32(op.getBytes())},
        "r,r");
  else
    ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", {barrier}, "r");
}

void Lowering::lowerTryWait(nv::TryWaitOp op) {
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  Value complete =
      ptxValue(builder.getI1Type(),
               "{ .reg .pred done; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 "
               "done, [$1], $2; selp.b32 $0, 1, 0, done; }",
               {barrier, op.getPhase()}, "=r,r,r,~{memory}");
  op.replaceAllUsesWith(complete);
}

void Lowering::lowerWait(nv::WaitOp op) {
  Value barrier = sharedAddress(barrierOffset(op.getBarriers(), op.getIndex()));
  std::string semantics = op.getRelaxed() ? ".relaxed" : ".acquire";
  semantics += op.getCluster() ? ".cluster" : ".cta";
  ptx("{ .reg .pred done; wait_${:uid}: mbarrier.try_wait.parity" + semantics +
          ".shared::cta.b64 done, [$0], $1; @!done bra wait_${:uid}; }",
      {barrier, op.getPhase()}, "r,r");
  if (op.getRelaxed() && usesTensorMemory)
    ptx("tcgen05.fence::after_thread_sync;", {}, "");
}
