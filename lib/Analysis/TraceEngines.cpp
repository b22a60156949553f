//===- TraceEngines.cpp - What barriers and engines do in a trace ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of KernelTrace that knows the operations of the nv dialect: which steps
// each of them is, and for whom. A new operation is added here.
//
//===----------------------------------------------------------------------===//
#include "Analysis/KernelTrace.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace penstock {

using Kind = sched::ProtocolStep::Kind;
using Queue = sched::ProtocolQueue;

sched::ProtocolStep &KernelTrace::step(Kind kind, Operation *op) {
  sched::ProtocolStep &made = steps->emplace_back();
  made.kind = kind;
  made.source = sourceOf(op);
  made.iteration = iteration;
  return made;
}

bool KernelTrace::withBarrier(Kind kind, Operation *op, Value barriers, Value index, int64_t rank,
                              llvm::function_ref<void(sched::ProtocolStep &)> fill) {
  auto barrier = barrierOf(barriers, index, rank);
  if (!barrier)
    return refuse(op, "which barrier this is depends on data");
  sched::ProtocolStep &made = step(kind, op);
  made.barrier = *barrier;
  if (fill)
    fill(made);
  return true;
}

bool KernelTrace::forBlocks(Operation *op, Value mask, int64_t own,
                            llvm::function_ref<bool(int64_t)> act) {
  if (!mask)
    return act(own);
  auto blocks = scalars.get(mask);
  if (!blocks)
    return refuse(op, "which blocks this is for depends on data");
  for (int64_t rank = 0; rank < ranks; ++rank)
    if ((*blocks >> rank & 1) && !act(rank))
      return false;
  return true;
}

static int64_t bytesOf(Value tile) {
  auto type = cast<MemRefType>(tile.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

bool KernelTrace::runBarrierOp(Operation *op) {
  int64_t own = warpRole.rank;
  auto group = [&](Queue queue, bool leaderOnly, std::optional<int64_t> pending = {}) {
    if (leaderOnly && !leads(op))
      return true;
    sched::ProtocolStep &made = step(pending ? Kind::AwaitGroups : Kind::CloseGroup, op);
    made.queue = queue;
    made.count = pending.value_or(0);
    return true;
  };
  auto wait = [&](Value barriers, Value index, Value phase, bool relaxed) {
    auto parity = scalars.get(phase);
    if (!parity)
      return refuse(op, "for which phase this waits depends on data");
    return withBarrier(Kind::Wait, op, barriers, index, own, [&](sched::ProtocolStep &made) {
      made.parity = *parity & 1;
      made.relaxed = relaxed;
    });
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<nv::SyncOp, nv::ClusterSyncOp>([&](auto) {
        unsigned sync = syncOf(op);
        step(Kind::Sync, op).barrier = sync;
        return true;
      })
      .Case([&](nv::ArriveOp arrive) {
        int64_t threads = nv::scopeOf(op).oneThread ? 1 : warpRole.warps * nv::warpSize;
        int64_t bytes = 0;
        if (Value announced = arrive.getBytes()) {
          auto value = scalars.get(announced);
          if (!value)
            return refuse(op, "how many bytes are announced depends on data");
          bytes = *value * threads;
        }
        int64_t rank = own;
        if (Value cta = arrive.getCta()) {
          auto value = scalars.get(cta);
          if (!value || *value < 0 || *value >= ranks)
            return refuse(op, "at which block this arrives depends on data");
          rank = *value;
        }
        return withBarrier(Kind::Arrive, op, arrive.getBarriers(), arrive.getIndex(), rank,
                           [&](sched::ProtocolStep &made) {
                             made.count = threads;
                             made.bytes = bytes;
                             made.relaxed = arrive.getRelaxed();
                           });
      })
      .Case([&](nv::WaitOp op) {
        return wait(op.getBarriers(), op.getIndex(), op.getPhase(), op.getRelaxed());
      })
      .Case([&](nv::TryWaitOp ask) {
        // It may always say no. A loop around it asks until it does not.
        bool asksAgain = ask->getParentOfType<scf::WhileOp>() != nullptr;
        scalars.set(ask.getComplete(), asksAgain);
        return !asksAgain || wait(ask.getBarriers(), ask.getIndex(), ask.getPhase(), false);
      })
      .Case([&](nv::TmaLoadOp load) {
        if (leads(op))
          recordRead(op, load.getOffsets());
        return !leads(op) || forBlocks(op, load.getMulticast(), own, [&](int64_t rank) {
          // In a pair, copies of both blocks arrive at the first.
          return withBarrier(Kind::Copy, op, load.getBarriers(), load.getIndex(), pair ? 0 : rank,
                             [&](sched::ProtocolStep &made) {
                               made.bytes = bytesOf(load.getTarget());
                               access(made, load.getTarget(), true, rank);
                             });
        });
      })
      .Case([&](nv::ClcRequestOp request) {
        return !leads(op) || withBarrier(Kind::Copy, op, request.getBarriers(), request.getIndex(),
                                         own, [&](sched::ProtocolStep &made) {
                                           made.bytes = 16;
                                           access(made, request.getAnswer(), true, own);
                                         });
      })
      .Case([&](nv::ClcAnswerOp answer) {
        access(step(Kind::Touch, op), answer.getAnswer(), false, own, scopeOf(op));
        scalars.set(answer->getResult(0), answers < now.grants);
        scalars.set(answer->getResult(1), ++answers);
        return true;
      })
      .Case([&](nv::TmaStoreOp store) {
        if (!leads(op))
          return true;
        sched::ProtocolStep &made = step(Kind::Start, op);
        made.queue = Queue::Store;
        access(made, store.getSource(), false, own);
        return true;
      })
      .Case([&](nv::TmaCommitOp) { return group(Queue::Store, true); })
      .Case([&](nv::TmaWaitOp wait) { return group(Queue::Store, true, wait.getPending()); })
      .Case([&](nv::AsyncCopyOp copy) {
        recordRead(op, copy.getOffsets());
        sched::ProtocolStep &made = step(Kind::Start, op);
        made.queue = Queue::AsyncCopy;
        access(made, copy.getTarget(), true, own, scopeOf(op));
        return true;
      })
      .Case([&](nv::AsyncArriveOp arrive) {
        return withBarrier(Kind::Commit, op, arrive.getBarriers(), arrive.getIndex(), own,
                           [&](sched::ProtocolStep &made) {
                             made.queue = Queue::AsyncCopy;
                             made.count =
                                 nv::scopeOf(op).oneThread ? 1 : warpRole.warps * nv::warpSize;
                           });
      })
      .Case([&](nv::AsyncCommitOp) { return group(Queue::AsyncCopy, false); })
      .Case([&](nv::AsyncWaitOp wait) { return group(Queue::AsyncCopy, false, wait.getPending()); })
      .Case([&](nv::TensorMmaOp mma) {
        if (!leads(op))
          return true;
        sched::ProtocolStep &made = step(Kind::Start, op);
        made.queue = Queue::Tensor;
        auto accumulates = scalars.get(mma.getAccumulate());
        for (int64_t rank = pair ? 0 : own; rank < (pair ? ranks : own + 1); ++rank) {
          access(made, mma.getA(), false, rank);
          access(made, mma.getB(), false, rank);
          if (accumulates && *accumulates)
            access(made, mma.getAcc(), false, rank);
          access(made, mma.getAcc(), true, rank);
        }
        return true;
      })
      .Case([&](nv::TensorCommitOp commit) {
        auto at = [&](int64_t rank) {
          return withBarrier(Kind::Commit, op, commit.getBarriers(), commit.getIndex(), rank,
                             [](sched::ProtocolStep &made) { made.count = 1; });
        };
        if (!leads(op))
          return true;
        if (pair && !commit.getMulticast())
          return at(0) && at(1);
        return forBlocks(op, commit.getMulticast(), own, at);
      })
      .Case([&](nv::TensorLoadOp load) {
        access(step(Kind::Touch, op), load.getSource(), false, own, scopeOf(op));
        return true;
      })
      .Case([&](nv::TensorStoreOp store) {
        access(step(Kind::Touch, op), store.getTarget(), true, own, scopeOf(op));
        return true;
      })
      .Case([&](nv::TensorCopyOp copy) {
        for (int64_t rank = pair ? 0 : own; leads(op) && rank < (pair ? ranks : own + 1); ++rank) {
          sched::ProtocolStep &made = step(Kind::Start, op);
          made.queue = Queue::Tensor;
          access(made, copy.getSource(), false, rank);
          access(made, copy.getTarget(), true, rank);
        }
        return true;
      })
      .Case([&](nv::WgmmaOp mma) {
        sched::ProtocolStep &made = step(Kind::Start, op);
        made.queue = Queue::Wgmma;
        access(made, mma.getA(), false, own, scopeOf(op));
        access(made, mma.getB(), false, own, scopeOf(op));
        return true;
      })
      .Case([&](nv::WgmmaCommitOp) { return group(Queue::Wgmma, false); })
      .Case([&](nv::WgmmaWaitOp wait) { return group(Queue::Wgmma, false, wait.getPending()); })
      .Case<nv::NamedBarrierSyncOp, nv::NamedBarrierArriveOp>([&](auto) {
        unsigned barrier = arrays.lookup({op->getOperand(0), own});
        sched::ProtocolStep &came = step(Kind::Arrive, op);
        came.barrier = barrier;
        came.count = warpRole.warps * nv::warpSize;
        if (isa<nv::NamedBarrierArriveOp>(op))
          return true;
        sched::ProtocolStep &opened = step(Kind::Wait, op);
        opened.barrier = barrier;
        opened.own = true;
        opened.parity = openings[op->getOperand(0)]++ & 1; // if it takes part in all phases
        return true;
      })
      // Of these no role waits and none arrives; what they order is for the
      // emulator, which sees registers and proxies.
      .Case<nv::BarrierAllocOp, nv::NamedBarrierAllocOp, nv::TensorAllocOp, nv::TensorDeallocOp,
            nv::TensorWaitLoadOp, nv::TensorWaitStoreOp, nv::WarpSyncOp, nv::WgmmaFenceOp,
            nv::ProxyFenceOp, nv::TensorFenceOp, nv::RegistersRequestOp, nv::RegistersReleaseOp,
            nv::EndOp>([&](auto) { return true; })
      .Default([&](Operation *) {
        return refuse(op, "`" + op->getName().stripDialect().str() + "` is not modeled");
      });
}

} // namespace penstock
