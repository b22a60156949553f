//===- LoopSurroundings.cpp - Uses of a loop's memory around it -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/LoopSurroundings.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Plans/OpenRings.h"

#include <set>

using namespace mlir;
using namespace penstock;
using nvptx::LoopSurroundings;

void *nvptx::memoryOf(Value memref) {
  Value root = tile::rootOf(memref);
  if (auto argument = dyn_cast<BlockArgument>(root))
    if (auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
        kernel && kernel.getArgAttr(argument.getArgNumber(), tile::TileDialect::overlapsAttr))
      return kernel.getOperation();
  return root.getAsOpaquePointer();
}

void nvptx::TensorAccesses::add(Operation *op) {
  auto found = [&](Value memref, bool writes) {
    if (tile::isGlobal(tile::rootOf(memref)))
      (writes ? written : read).insert(nvptx::memoryOf(memref));
  };
  prints |= isa<tile::PrintOp>(op);
  if (auto hardware = dyn_cast<nv::HardwareOpInterface>(op)) {
    SmallVector<nv::HardwareAccess> accesses;
    hardware.getAccesses(accesses);
    for (const nv::HardwareAccess &access : accesses)
      found(access.memref, access.writes);
  } else if (auto accessor = dyn_cast<tile::TileAccessOpInterface>(op)) {
    SmallVector<tile::TileAccess> accesses;
    accessor.getAccesses(accesses);
    for (const tile::TileAccess &access : accesses)
      found(access.memref, access.writes || access.atomic);
  }
}

bool nvptx::TensorAccesses::conflict(Value tensor, bool writes) const {
  if (!tensor)
    return prints;
  void *memory = nvptx::memoryOf(tensor);
  return written.contains(memory) || (writes && read.contains(memory));
}

/// Returns whether an engine may overwrite what threads accessed in the run before. What a run
/// writes before it reads it has fences of its own.
static bool overwritesOtherRun(const sched::Plan &plan) {
  std::set<sched::BufferId> byThreads, byEngines;
  for (const sched::Statement &statement : plan.bound.statements)
    for (const sched::Access &access : statement.accesses)
      if (access.proxy == sched::Proxy::Generic)
        byThreads.insert(access.buffer);
      else if (access.write)
        byEngines.insert(access.buffer);
  return llvm::any_of(byEngines,
                      [&](sched::BufferId buffer) { return byThreads.count(buffer) != 0; });
}

LoopSurroundings::LoopSurroundings(const PipelineLoop &body, const sched::Plan &plan)
    : body(body), loop(body.loop) {
  auto isBefore = [&](Operation *op) { return op->isBeforeInBlock(loop); };
  auto isAfter = [&](Operation *op) { return loop->isBeforeInBlock(op); };
  auto isAnywhere = [](Operation *) { return true; };
  again = loop->getParentOp() != loop->getParentOfType<func::FuncOp>();
  sharedBefore = again ? isAccessed(tile::Space::Shared, isAnywhere) || overwritesOtherRun(plan)
                       : isAccessed(tile::Space::Shared, isBefore);
  before = again || sharedBefore || isAccessed(tile::Space::Tensor, isBefore);
  for (Operation &op : *loop->getBlock())
    if (&op != loop)
      op.walk([&](Operation *each) { (isBefore(&op) ? tensorsBefore : tensorsAfter).add(each); });
  after =
      again || isAccessed(tile::Space::Shared, isAfter) || isAccessed(tile::Space::Tensor, isAfter);
}

bool LoopSurroundings::mayUseSharedBefore() const {
  for (Operation &op : *loop->getBlock()) {
    if (&op == loop)
      return false;
    auto fill = dyn_cast<tile::FillOp>(op);
    bool inRegisters =
        fill && tile::spaceOf(cast<MemRefType>(fill.getTarget().getType())) != tile::Space::Shared;
    if (!inRegisters && !isMemoryEffectFree(&op) && !nvptx::isLoadBeforeLoops(&op) &&
        !isa<tile::AllocOp, tile::GridOp, nv::BarrierAllocOp, nv::TensorAllocOp>(op))
      return true;
  }
  return false;
}

bool LoopSurroundings::isAccessedBefore(Value memref) const {
  return isAccessed(memref, [&](Operation *op) { return op->isBeforeInBlock(loop); });
}

bool LoopSurroundings::isAccessedAfter(Value memref) const {
  return isAccessed(memref, [&](Operation *op) { return loop->isBeforeInBlock(op); });
}

bool LoopSurroundings::isAccessed(Value memref, Where where) const {
  SmallVector<Operation *> users;
  nvptx::usersOf(memref, users);
  return llvm::any_of(users, [&](Operation *user) {
    Operation *at = loop->getBlock()->findAncestorOpInBlock(*user);
    // Roles wait for loads of TMA where they access the tile.
    return !loop->isAncestor(user) && (!at || where(at)) && !nvptx::isLoadBeforeLoops(user);
  });
}

bool LoopSurroundings::isAccessed(tile::Space space, Where where) const {
  return llvm::any_of(body.buffers, [&](Value buffer) {
    // A buffer without a value stands for printed output.
    auto type = buffer ? dyn_cast<MemRefType>(buffer.getType()) : MemRefType();
    return type && tile::spaceOf(type) == space && isAccessed(buffer, where);
  });
}
