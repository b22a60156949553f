//===- PlanPoints.cpp - Operations for points of plans --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/PlanPoints.h"
#include "Dialect/NV/NVDialect.h"

using namespace mlir;
using namespace penstock;
using nvptx::PointWriter;
using sched::Engine;

int64_t nvptx::arrivalsByWarp(const sched::Plan &plan, sched::BarrierId barrier) {
  int64_t arrivals = plan.barriers[barrier].arrivals;
  for (const sched::PlanRole &role : plan.roles)
    for (const sched::PlanPoint &point : role.points)
      if (point.kind == sched::PlanPoint::Arrive && point.barrier == barrier && !point.leader)
        arrivals -= point.count - point.count / nv::warpSize;
  return arrivals;
}

std::vector<Value> PointWriter::allocate(OpBuilder &b, Location loc, func::FuncOp kernel,
                                         ArrayRef<sched::PlanBarrier> of) {
  std::vector<Value> barriers;
  for (const sched::PlanBarrier &barrier : of) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    SmallVector<int64_t> counts(size_t(barrier.slots), barrier.arrivals);
    barriers.push_back(
        nv::BarrierAllocOp::create(b, loc, nv::BarriersType::get(b.getContext(), barrier.slots),
                                   b.getStringAttr(barrier.name), counts));
  }
  return barriers;
}

void PointWriter::fence(Location loc, sched::FenceKind kind) {
  switch (kind) {
  case sched::FenceKind::Proxy:
    nv::ProxyFenceOp::create(b, loc);
    return;
  case sched::FenceKind::Registers:
    return; // each product has one directly before it
  case sched::FenceKind::TensorBefore:
  case sched::FenceKind::TensorAfter:
    nv::TensorFenceOp::create(b, loc, kind == sched::FenceKind::TensorAfter);
    return;
  }
}

void PointWriter::waitGroup(Location loc, const sched::PlanPoint &point, int64_t pending) {
  switch (point.engine) {
  case Engine::CpAsync:
    nv::AsyncWaitOp::create(b, loc, pending);
    return;
  case Engine::Wgmma:
    nv::WgmmaWaitOp::create(b, loc, pending);
    return;
  case Engine::TmaStore:
    nv::TmaWaitOp::create(b, loc, pending, point.readsOnly);
    return;
  case Engine::Tcgen05Load:
    nv::TensorWaitLoadOp::create(b, loc);
    return;
  case Engine::Tcgen05Store:
    nv::TensorWaitStoreOp::create(b, loc);
    return;
  default:
    return; // ended at its issue
  }
}

void PointWriter::closeGroup(Location loc, Engine engine) {
  if (engine == Engine::CpAsync)
    nv::AsyncCommitOp::create(b, loc);
  else if (engine == Engine::Wgmma)
    nv::WgmmaCommitOp::create(b, loc);
  else if (engine == Engine::TmaStore)
    nv::TmaCommitOp::create(b, loc);
}

void PointWriter::wait(Location loc, Value barriers, SlotCounters::Position at, bool leader,
                       bool cluster) {
  Value slot = asIndex(loc, at.slot);
  byLeader(loc, leader, [&] {
    nv::WaitOp::create(b, loc, barriers, slot, at.phase, /*relaxed=*/false, cluster);
  });
}

void PointWriter::arrive(Location loc, Value barriers, Value slot, Value bytes, bool leader,
                         ValueRange blocks, bool relaxed) {
  byLeader(loc, leader, [&] {
    auto write = [&](Value block) {
      nv::ArriveOp::create(b, loc, barriers, slot, bytes, block, relaxed, /*cluster=*/false,
                           /*eachWarp=*/!leader);
    };
    if (blocks.empty())
      write(Value());
    llvm::for_each(blocks, write);
  });
}

void PointWriter::commit(Location loc, Engine engine, Value barriers, Value slot, Value blocks) {
  if (engine == Engine::CpAsync)
    nv::AsyncArriveOp::create(b, loc, barriers, slot);
  else
    nv::TensorCommitOp::create(b, loc, barriers, slot, blocks);
}

Value PointWriter::asIndex(Location loc, Value i32) {
  return b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), i32);
}

void PointWriter::byLeader(Location loc, bool leader, llvm::function_ref<void()> write) {
  if (!leader)
    return write();
  auto scope = nv::ElectOp::create(b, loc);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&scope.getBody());
  write();
  nv::EndOp::create(b, loc);
}
