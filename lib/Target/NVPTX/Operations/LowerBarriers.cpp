//===- LowerBarriers.cpp - Barriers ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Views.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

namespace {

/// Numbers of the named barriers of nv.named_barrier.alloc.
struct NamedBarrierNumbers {
  llvm::DenseMap<Value, int64_t> of;
};

} // namespace

static LogicalResult lowerNamedBarrierAlloc(LoweringContext &c, nv::NamedBarrierAllocOp op) {
  c.state<NamedBarrierNumbers>().of[op.getResult()] = c.namedBarriers.next;
  nameStorage(c, op, StorageName::NamedBarrier, c.namedBarriers.next, 1, 0);
  return takeBarrier(c, op);
}

static void namedBarrier(LoweringContext &c, StringRef instruction, Value barrier) {
  int64_t number = c.state<NamedBarrierNumbers>().of.lookup(barrier);
  int64_t threads = cast<nv::NamedBarrierType>(barrier.getType()).getThreads();
  c.ptx((instruction + " " + Twine(number) + ", " + Twine(threads) + ";").str());
}

static void lowerNamedBarrierSync(LoweringContext &c, nv::NamedBarrierSyncOp op) {
  namedBarrier(c, "bar.sync", op.getOperand());
}

static void lowerNamedBarrierArrive(LoweringContext &c, nv::NamedBarrierArriveOp op) {
  namedBarrier(c, "bar.arrive", op.getOperand());
}

static void lowerSync(LoweringContext &c, nv::SyncOp, const ExecutionScope &by) {
  syncThreads(c, by);
}

static void lowerClusterSync(LoweringContext &c, nv::ClusterSyncOp) { syncCluster(c); }

// Releases and acquires of barriers also order tcgen05 operations; only relaxed arrivals and waits
// need a tcgen05.fence.

static void lowerArrive(LoweringContext &c, nv::ArriveOp op) {
  Value barrier = barrierAddress(c, op.getBarriers(), op.getIndex());
  if (op.getCta())
    barrier = c.ptxValue(c.builder.getI32Type(), "mapa.shared::cluster.u32 $0, $1, $2;",
                         {barrier, c.asI32(op.getCta())});
  if (c.mode.usesTensorMemory && op.getRelaxed())
    c.ptx("tcgen05.fence::before_thread_sync;");
  // `.relaxed` requires PTX 8.6, which kernels with tensor memory require anyway. A release at
  // block scope orders no more for another block, and costs no more.
  bool ownRelease = op.getRelaxed() && op.getCta() && !c.mode.usesTensorMemory;
  std::string semantics = op.getRelaxed() && !ownRelease ? ".relaxed" : ".release";
  semantics += !ownRelease && (op.getCluster() || op.getCta()) ? ".cluster" : ".cta";
  semantics += op.getCta() ? ".shared::cluster" : ".shared::cta";
  if (op.getBytes())
    c.ptx("mbarrier.arrive.expect_tx" + semantics + ".b64 _, [$0], $1;",
          {barrier, c.asI32(op.getBytes())});
  else if (op.getEachWarp()) // the first lane: this test is hoisted out of loops, elect.sync
                             // is not
    c.ptx("@$1 mbarrier.arrive" + semantics + ".b64 _, [$0];",
          {barrier, c.cmp(arith::CmpIPredicate::eq, c.andBits(c.thread, 31), c.i32(0))});
  else
    c.ptx("mbarrier.arrive" + semantics + ".b64 _, [$0];", {barrier});
}

static void lowerTryWait(LoweringContext &c, nv::TryWaitOp op) {
  Value barrier = barrierAddress(c, op.getBarriers(), op.getIndex());
  std::string scope = op.getCluster() ? ".cluster" : ".cta";
  std::string time = op.getNanoseconds() ? ", " + std::to_string(*op.getNanoseconds()) : "";
  Value complete =
      c.inlinePtx()
          .output(c.builder.getI32Type())
          .inputs({barrier, op.getPhase()})
          .emit("{ .reg .pred done; mbarrier.try_wait.parity.acquire" + scope +
                    ".shared::cta.b64 done, [$1], $2" + time + "; selp.b32 $0, 1, 0, done; }",
                PtxEffects::Memory)[0];
  op.replaceAllUsesWith(c.cmp(arith::CmpIPredicate::ne, complete, c.i32(0)));
}

static void lowerWait(LoweringContext &c, nv::WaitOp op) {
  Value barrier = barrierAddress(c, op.getBarriers(), op.getIndex());
  std::string semantics = op.getRelaxed() ? ".relaxed" : ".acquire";
  semantics += op.getCluster() ? ".cluster" : ".cta";
  c.ptx("{ .reg .pred done; wait_${:uid}: mbarrier.try_wait.parity" + semantics +
            ".shared::cta.b64 done, [$0], $1; @!done bra wait_${:uid}; }",
        {barrier, op.getPhase()});
  if (op.getRelaxed() && c.mode.usesTensorMemory)
    c.ptx("tcgen05.fence::after_thread_sync;");
}

void nvptx::addBarriers(LoweringTable &table) {
  table.keep<nv::BarrierAllocOp>();
  table.addStructure<lowerNamedBarrierAlloc>();
  table.add<lowerNamedBarrierSync>();
  table.add<lowerNamedBarrierArrive>();
  table.add<lowerSync>();
  table.add<lowerClusterSync>();
  table.addPtx<nv::WarpSyncOp>("bar.warp.sync 0xffffffff;");
  table.addPtx<nv::ProxyFenceOp>("fence.proxy.async.shared::cta;");
  table.add<lowerArrive>();
  table.add<lowerWait>();
  table.add<lowerTryWait>();
}
