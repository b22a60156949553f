//===- Views.cpp - Release and acquire ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/HappensBefore.h"

namespace penstock::emu {

View &ownView(Exec &ex, unsigned lane) {
  LaneState &state = ex.warp.lanes[lane];
  if (!state.view)
    state.view = std::make_unique<View>(ex.warp.view);
  return *state.view;
}

void releaseInto(Exec &ex, uint32_t mask, View &into) {
  bool common = false;
  forLanes(mask, [&](unsigned lane) {
    if (ex.warp.lanes[lane].view)
      into.join(*ex.warp.lanes[lane].view);
    else
      common = true;
  });
  if (common)
    into.join(ex.warp.view);
  if (mask == ex.warp.started)
    into.seen.setWarp(ex.warp.gid, ex.warp.count);
  else
    forLanes(mask, [&](unsigned lane) { into.seen.setLane(ex.warp.gid, lane, ex.warp.count); });
}

void releaseFenced(const LaneState &lane, View &into) {
  if (lane.fence)
    into.join(*lane.fence);
  if (lane.tensorFence)
    into.seen.join(*lane.tensorFence);
}

void readRelaxed(Exec &ex, unsigned lane, const View &from) {
  LaneState &state = ex.warp.lanes[lane];
  if (!state.pending)
    state.pending = std::make_unique<View>(ex.cluster.newView());
  state.pending->join(from);
}

void tick(Exec &ex) {
  if (ex.warp.count != 0xffffffff)
    ++ex.warp.count;
}

void noteCollective(Exec &ex) {
  ex.warp.collectives.push_back(ex.warp.count);
  tick(ex);
}

void acquire(Exec &ex, uint32_t mask, const View &from) {
  if ((mask & ex.warp.live) == ex.warp.live) {
    ex.warp.view.join(from);
    for (LaneState &state : ex.warp.lanes)
      if (state.view)
        state.view->join(from);
    return;
  }
  forLanes(mask, [&](unsigned lane) { ownView(ex, lane).join(from); });
}

void mergeLanes(Exec &ex) {
  for (LaneState &state : ex.warp.lanes)
    if (state.view) {
      ex.warp.view.join(*state.view);
      state.view.reset();
    }
}

void synchronize(Exec &ex, unsigned lane, const MemRef &ref, bool reads, bool writes, Order order,
                 Scope scope) {
  uint64_t key;
  if (ref.space == ptx::Space::Shared)
    key = uint64_t(1) << 63 | (uint64_t(ex.cluster.number) * 16 + ref.cta->rank) << 24 | ref.offset;
  else if (ref.space == ptx::Space::Global)
    key = ref.allocation->base + ref.offset;
  else
    return;
  std::lock_guard<std::mutex> lock(ex.grid.state->syncMutex);
  SyncVariable &variable = ex.grid.state->syncVariables[key];
  LaneState &state = ex.warp.lanes[lane];
  uint32_t block = ex.grid.blockOf(ex.warp.gid), cluster = ex.cluster.number;
  if (reads) {
    auto joinInto = [&](View &view) {
      // Both sides must reach each other. Of several releasers at device scope the
      // views are not kept apart, so a narrow acquire gets the benefit of the doubt.
      uint32_t unit = scope == Scope::Block ? 1 : ex.grid.ctasPerCluster;
      if (scope == Scope::Device || variable.bySeveral || variable.releaser / unit == block / unit)
        view.join(variable.device);
      if (auto found = variable.clusters.find(cluster); found != variable.clusters.end())
        view.join(found->second);
      if (auto found = variable.blocks.find(block); found != variable.blocks.end())
        view.join(found->second);
    };
    if (order == Order::Acquire || order == Order::AcquireRelease) {
      joinInto(ownView(ex, lane));
    } else {
      if (!state.pending)
        state.pending = std::make_unique<View>(ex.cluster.newView());
      joinInto(*state.pending);
    }
  }
  if (writes) {
    if (!reads)
      variable = SyncVariable();
    auto target = [&](Scope reach) -> View & {
      if (reach == Scope::Block)
        return variable.blocks[block];
      if (reach == Scope::Cluster)
        return variable.clusters[cluster];
      variable.bySeveral |= variable.released && variable.releaser != block;
      variable.released = true;
      variable.releaser = block;
      return variable.device;
    };
    if (order == Order::Release || order == Order::AcquireRelease) {
      releaseInto(ex, 1u << lane, target(scope));
      tick(ex);
    } else {
      if (state.fence)
        target(std::min(scope, state.fenceScope)).join(*state.fence);
      if (state.tensorFence)
        target(scope).seen.join(*state.tensorFence);
    }
  }
}

} // namespace penstock::emu
