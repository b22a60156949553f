//===- TraceEngines.cpp - Barriers and engines in a trace -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of KernelTrace that turns operations of the nv dialect into steps. Accesses,
// queues and issuers come from HardwareOpInterface; only arrivals and waits, which have
// operands of their own, are known here by name.
//
//===----------------------------------------------------------------------===//
#include "Analysis/Kernel/KernelTrace.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileTypes.h"
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

static Queue queueOf(nv::HardwareOpInterface op) {
  switch (*op.getQueue()) {
  case nv::Queue::Tensor:
    return Queue::Tensor;
  case nv::Queue::Wgmma:
    return Queue::Wgmma;
  case nv::Queue::AsyncCopy:
    return Queue::AsyncCopy;
  case nv::Queue::BulkStore:
    return Queue::Store;
  }
  llvm_unreachable("all queues are covered");
}

/// Threads of a warp role that take part in an operation that each thread executes.
int64_t KernelTrace::threadsOf(Operation *op) const {
  return nv::scopeOf(op).oneThread ? 1 : warpRole.warps * nv::warpSize;
}

/// The blocks that the accesses of an operation concern: products of a pair of blocks are
/// those of both.
std::pair<int64_t, int64_t> KernelTrace::blocksOf(nv::HardwareOpInterface op) const {
  if (pair && op.getQueue() == nv::Queue::Tensor)
    return {0, ranks};
  return {warpRole.rank, warpRole.rank + 1};
}

/// The part of the rows of a tensor tile that an operation accesses, if it accesses one of several.
std::optional<int64_t> KernelTrace::partOf(Operation *op, MemRefType type) const {
  int64_t parts = nv::warpgroupParts(type);
  if (tile::spaceOf(type) != tile::Space::Tensor || parts == 1)
    return std::nullopt;
  if (auto mma = dyn_cast<nv::TensorMmaOp>(op))
    return mma.getPartAttr() ? std::optional(mma.getPartAttr().getInt()) : std::nullopt;
  if (isa<nv::TensorLoadOp, nv::TensorStoreOp>(op) && warpRole.warps == nv::warpgroupWarps)
    return groupOf(op) % parts;
  return std::nullopt;
}

void KernelTrace::accessAll(sched::ProtocolStep &to, nv::HardwareOpInterface op,
                            ArrayRef<nv::HardwareAccess> accesses, int64_t rank) {
  int64_t scope = op.getIssuer() == nv::Issuer::OneThread ? -1 : scopeOf(op);
  for (const nv::HardwareAccess &one : accesses) {
    bool reads = one.reads;
    if (one.readsIf) {
      auto known = scalars.get(one.readsIf);
      reads = known && *known;
    }
    if (reads)
      access(to, one.memref, false, rank, scope);
    if (one.writes)
      access(to, one.memref, true, rank, scope);
    auto part = partOf(op, cast<MemRefType>(one.memref.getType()));
    size_t made = part ? size_t(reads) + size_t(one.writes) : 0;
    for (sched::ProtocolAccess &access : llvm::MutableArrayRef(to.accesses).take_back(made)) {
      access.box.begin[0] += *part * nv::tensorLanes;
      access.box.end[0] = access.box.begin[0] + nv::tensorLanes;
    }
  }
}

bool KernelTrace::runHardwareOp(nv::HardwareOpInterface op) {
  if (op.getIssuer() == nv::Issuer::OneThread && !leads(op))
    return true;
  SmallVector<nv::HardwareAccess> accesses;
  op.getAccesses(accesses);
  for (const nv::HardwareAccess &one : accesses)
    if (one.reads && !one.offsets.empty())
      recordRead(op, one.offsets);
  switch (op.getCompletion()) {
  case nv::Completion::OnBarrier:
    return runCopy(op, accesses);
  case nv::Completion::InQueue: {
    sched::ProtocolStep &made = step(Kind::Start, op);
    made.queue = queueOf(op);
    auto [first, end] = blocksOf(op);
    for (int64_t rank = first; rank < end; ++rank)
      accessAll(made, op, accesses, rank);
    return true;
  }
  case nv::Completion::Immediate:
    break;
  }
  switch (op.getSynchronization()) {
  case nv::Synchronization::None:
    // Without accesses no role waits for it and it waits for none; what it orders is for
    // the emulator, which sees registers and proxies.
    if (!accesses.empty())
      accessAll(step(Kind::Touch, op), op, accesses, warpRole.rank);
    if (auto answer = dyn_cast<nv::ClcAnswerOp>(*op)) {
      scalars.set(answer.getGranted(), answers < now.grants);
      scalars.set(answer.getBlock(), ++answers);
    }
    return true;
  case nv::Synchronization::Sync: {
    unsigned sync = syncOf(op);
    step(Kind::Sync, op).barrier = sync;
    return true;
  }
  case nv::Synchronization::CloseGroup:
    step(Kind::CloseGroup, op).queue = queueOf(op);
    return true;
  case nv::Synchronization::AwaitGroups: {
    sched::ProtocolStep &made = step(Kind::AwaitGroups, op);
    made.queue = queueOf(op);
    made.count = op.getPendingGroups();
    return true;
  }
  case nv::Synchronization::Commit:
    return runCommit(op);
  case nv::Synchronization::Arrive:
  case nv::Synchronization::Wait:
    return runBarrierOp(op);
  }
  llvm_unreachable("all kinds are covered");
}

/// A copy whose bytes arrive on its barrier.
bool KernelTrace::runCopy(nv::HardwareOpInterface op, ArrayRef<nv::HardwareAccess> accesses) {
  auto barrier = op.getBarrierOperand();
  // Reads of tensors are not tracked; a copy writes one tile.
  Value target = llvm::find_if(accesses, [](const auto &one) { return one.writes; })->memref;
  return forBlocks(op, barrier->multicast, warpRole.rank, [&](int64_t rank) {
    return withBarrier(Kind::Copy, op, barrier->barriers, barrier->index,
                       pair && barrier->firstOfPair ? 0 : rank, [&](sched::ProtocolStep &made) {
                         made.bytes = bytesOf(target);
                         if (auto load = dyn_cast<nv::TmaLoadOp>(*op); load && load.getPadding())
                           made.bytes = made.bytes * tile::bitsOf(*load.getPadding()) / 8;
                         access(made, target, true, rank);
                       });
  });
}

/// An arrival when a queue has completed what it holds.
bool KernelTrace::runCommit(nv::HardwareOpInterface op) {
  auto barrier = op.getBarrierOperand();
  auto at = [&](int64_t rank) {
    return withBarrier(Kind::Commit, op, barrier->barriers, barrier->index, rank,
                       [&](sched::ProtocolStep &made) {
                         made.queue = queueOf(op);
                         made.count = op.getIssuer() == nv::Issuer::OneThread ? 1 : threadsOf(op);
                       });
  };
  if (barrier->multicast)
    return forBlocks(op, barrier->multicast, warpRole.rank, at);
  auto [first, end] = blocksOf(op);
  for (int64_t rank = first; rank < end; ++rank)
    if (!at(rank))
      return false;
  return true;
}

bool KernelTrace::runArrive(nv::ArriveOp arrive) {
  int64_t bytes = 0;
  if (Value announced = arrive.getBytes()) {
    auto value = scalars.get(announced);
    if (!value)
      return refuse(arrive, "how many bytes are announced depends on data");
    bytes = *value * threadsOf(arrive);
  }
  int64_t rank = warpRole.rank;
  if (Value cta = arrive.getCta()) {
    auto value = scalars.get(cta);
    if (!value || *value < 0 || *value >= ranks)
      return refuse(arrive, "at which block this arrives depends on data");
    rank = *value;
  }
  return withBarrier(Kind::Arrive, arrive, arrive.getBarriers(), arrive.getIndex(), rank,
                     [&](sched::ProtocolStep &made) {
                       made.count = threadsOf(arrive) / (arrive.getEachWarp() ? nv::warpSize : 1);
                       made.bytes = bytes;
                       made.remote = rank != warpRole.rank;
                       made.relaxed = arrive.getRelaxed();
                       made.sent = bool(arrive.getCta());
                     });
}

/// Arrivals and waits.
bool KernelTrace::runBarrierOp(Operation *op) {
  auto wait = [&](Value barriers, Value index, Value phase, bool relaxed, bool cluster) {
    auto parity = scalars.get(phase);
    if (!parity)
      return refuse(op, "for which phase this waits depends on data");
    return withBarrier(Kind::Wait, op, barriers, index, warpRole.rank,
                       [&](sched::ProtocolStep &made) {
                         made.parity = *parity & 1;
                         made.relaxed = relaxed;
                         made.narrow = !cluster;
                       });
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](nv::ArriveOp arrive) { return runArrive(arrive); })
      .Case([&](nv::WaitOp op) {
        return wait(op.getBarriers(), op.getIndex(), op.getPhase(), op.getRelaxed(),
                    op.getCluster());
      })
      .Case([&](nv::TryWaitOp ask) {
        // It may always say no. A loop around it asks until it does not.
        bool asksAgain = ask->getParentOfType<scf::WhileOp>() != nullptr;
        scalars.set(ask.getComplete(), asksAgain);
        return !asksAgain || wait(ask.getBarriers(), ask.getIndex(), ask.getPhase(),
                                  /*relaxed=*/false, ask.getCluster());
      })
      .Case<nv::NamedBarrierSyncOp, nv::NamedBarrierArriveOp>([&](auto) {
        unsigned barrier = arrays.lookup({op->getOperand(0), warpRole.rank});
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
      .Default([&](Operation *) {
        return refuse(op, "`" + op->getName().stripDialect().str() + "` is not modeled");
      });
}

} // namespace penstock
