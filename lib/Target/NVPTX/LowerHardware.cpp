//===- LowerHardware.cpp - Operations of nv, by the threads that issue them ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation of the nv dialect is dispatched here to its lowering.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Engines.h"
#include "Target/NVPTX/Lowering.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Returns whether the PTX of an operation of one thread elects that thread itself.
static bool isIssuedByWarp(Operation *op) {
  if (auto copy = dyn_cast<nv::TensorCopyOp>(op))
    return nv::isScales(cast<MemRefType>(copy.getTarget().getType()));
  return isa<nv::TensorMmaOp, nv::TensorCommitOp>(op);
}

LogicalResult Lowering::lowerHardware(nv::HardwareOpInterface op, const ExecutionScope &by) {
  if (isa<nv::BarrierAllocOp, nv::TensorAllocOp>(*op))
    return success(); // allocated before
  if (auto alloc = dyn_cast<nv::NamedBarrierAllocOp>(*op)) {
    namedBarriers[alloc.getResult()] = nextBarrier;
    nameStorage(op, StorageName::NamedBarrier, nextBarrier, 1, 0);
    return takeBarrier(op);
  }
  LogicalResult lowered = success();
  auto issue = [&] { lowered = lowerIssued(op, by); };
  if (op.getIssuer() != nv::Issuer::OneThread || by.scope.oneThread) {
    issue();
  } else if (isIssuedByWarp(op) && by.scope.warps == 1) {
    // A warp executes these once, and the assembler leaves the election out. A branch around
    // them it keeps.
    electsIssuer = true;
    issue();
    electsIssuer = false;
  } else {
    when(by.leader, issue);
  }
  if (succeeded(lowered))
    op->erase();
  return lowered;
}

/// Lowers an operation where the threads are that issue it.
LogicalResult Lowering::lowerIssued(Operation *op, const ExecutionScope &by) {
  auto plain = [&](const Twine &text) {
    ptx(text.str());
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      // Threads
      .Case([&](nv::SyncOp) { return lowerSync(by), success(); })
      .Case([&](nv::ClusterSyncOp) { return lowerClusterSync(), success(); })
      .Case([&](nv::WarpSyncOp) { return plain("bar.warp.sync 0xffffffff;"); })
      .Case([&](nv::WarpDiffersOp op) { return lowerWarpDiffers(op), success(); })
      .Case([&](nv::WarpgroupOp op) {
        op.replaceAllUsesWith(asIndex(by.group ? by.group : i32(0)));
        return success();
      })
      .Case([&](nv::ClusterRankOp rank) {
        rank.replaceAllUsesWith(
            asIndex(ptxValue(builder.getI32Type(), "mov.u32 $0, %cluster_ctarank;")));
        return success();
      })
      .Case([&](nv::RegistersRequestOp request) {
        return plain("setmaxnreg.inc.sync.aligned.u32 " + Twine(request.getCount()) + ";");
      })
      .Case([&](nv::RegistersReleaseOp release) {
        return plain("setmaxnreg.dec.sync.aligned.u32 " + Twine(release.getCount()) + ";");
      })
      .Case([&](nv::ProxyFenceOp) { return plain("fence.proxy.async.shared::cta;"); })
      // Barriers
      .Case<nv::NamedBarrierSyncOp, nv::NamedBarrierArriveOp>(
          [&](auto) { return lowerNamedBarrier(op), success(); })
      .Case([&](nv::ArriveOp arrive) { return lowerArrive(arrive), success(); })
      .Case([&](nv::WaitOp wait) { return lowerWait(wait), success(); })
      .Case([&](nv::TryWaitOp wait) { return lowerTryWait(wait), success(); })
      // Copies
      .Case([&](nv::TmaLoadOp load) { return lowerTmaLoad(load, by), success(); })
      .Case([&](nv::TmaStoreOp store) { return lowerTmaStore(store, by), success(); })
      .Case([&](nv::TmaCommitOp) { return plain("cp.async.bulk.commit_group;"); })
      .Case([&](nv::TmaWaitOp wait) {
        return plain("cp.async.bulk.wait_group" + Twine(wait.getRead() ? ".read " : " ") +
                     Twine(wait.getPending()) + ";");
      })
      .Case([&](nv::AsyncCopyOp copy) { return lowerAsyncCopy(copy, by); })
      .Case([&](nv::AsyncArriveOp arrive) {
        ptx("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];",
            {sharedAddress(barrierOffset(arrive.getBarriers(), arrive.getIndex()))});
        return success();
      })
      .Case([&](nv::AsyncCommitOp) { return plain("cp.async.commit_group;"); })
      .Case([&](nv::AsyncWaitOp wait) {
        return plain("cp.async.wait_group " + Twine(wait.getPending()) + ";");
      })
      .Case([&](nv::ClcRequestOp request) { return lowerClcRequest(request), success(); })
      .Case([&](nv::ClcAnswerOp answer) { return lowerClcAnswer(answer), success(); })
      // Blackwell's tensor core
      .Case([&](nv::TensorDeallocOp dealloc) { return lowerTensorDealloc(dealloc), success(); })
      .Case([&](nv::TensorMmaOp mma) { return lowerTensorMma(mma, by); })
      .Case([&](nv::TensorCommitOp commit) { return lowerCommit(commit), success(); })
      .Case([&](nv::TensorCopyOp copy) { return lowerTensorCopy(copy); })
      .Case([&](nv::TensorLoadOp load) { return lowerTensorLoad(load, by), success(); })
      .Case([&](nv::TensorWaitLoadOp) { return lowerTensorWaitLoad(), success(); })
      .Case([&](nv::TensorStoreOp store) { return lowerTensorStore(store, by), success(); })
      .Case([&](nv::TensorWaitStoreOp) { return plain("tcgen05.wait::st.sync.aligned;"); })
      .Case([&](nv::TensorFenceOp fence) {
        return plain(fence.getAfter() ? "tcgen05.fence::after_thread_sync;"
                                      : "tcgen05.fence::before_thread_sync;");
      })
      // Hopper's tensor core
      .Case([&](nv::WgmmaFenceOp fence) { return lowerWgmmaFence(fence), success(); })
      .Case([&](nv::WgmmaOp mma) { return lowerWgmma(mma, by); })
      .Case([&](nv::WgmmaCommitOp) { return plain("wgmma.commit_group.sync.aligned;"); })
      .Case([&](nv::WgmmaWaitOp wait) {
        ptxWithRegisters(("wgmma.wait_group.sync.aligned " + Twine(wait.getPending()) + ";").str(),
                         accumulators);
        return success();
      })
      .Default([&](Operation *) { return refuse(op, "is not supported"); });
}
