//===- Synchronize.cpp - Release and acquire through variables ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The synchronizes-with rule of the PTX memory model. A release pattern starts
// with a releasing write or a fence and ends with a strong write, an acquire
// pattern starts with a strong read and ends with an acquiring read or a fence.
// They synchronize if the read observes the write, directly or through atomics
// that are morally strong one by one, and if the scopes of the first and the
// last operation include each other's threads.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/HappensBefore.h"
#include "Emulator/Races/Unreleased.h"

namespace penstock::emu {
namespace {

/// Misses that a thread remembers for messages.
constexpr size_t maxMissed = 4;

uint64_t keyOf(const Exec &ex, const MemRef &ref) {
  if (ref.space == ptx::Space::Shared)
    return uint64_t(1) << 63 | (uint64_t(ex.cluster.number) * 16 + ref.cta->rank) << 24 |
           ref.offset;
  return ref.allocation->base + ref.offset;
}

bool isVariable(const MemRef &ref) {
  return ref.space == ptx::Space::Shared || ref.space == ptx::Space::Global;
}

bool acquires(Order order) { return order == Order::Acquire || order == Order::AcquireRelease; }
bool releases(Order order) { return order == Order::Release || order == Order::AcquireRelease; }

void noteMiss(LaneState &state, const MissedRelease &miss) {
  if (state.missed.size() == maxMissed)
    state.missed.erase(state.missed.begin());
  state.missed.push_back(miss);
}

Scope scopeTo(const Exec &ex, const ReleasePoint &release) {
  uint32_t block = ex.grid.blockOf(release.warp);
  return scopeBetween(positionOf(ex), {block, ex.grid.firstCluster + (block - ex.grid.firstBlock) /
                                                                         ex.grid.ctasPerCluster});
}

/// Notes that an acquire of \p scope does not include the thread of \p release.
void noteNarrowAcquire(Exec &ex, unsigned lane, const ReleasePoint &release, Scope scope) {
  if (!release.count)
    return;
  Scope needed = scopeTo(ex, release);
  if (scope < needed && release.scope >= needed)
    noteMiss(ex.warp.lanes[lane], {release, ex.pc, scope, needed, true});
}

/// The threads that a value reaches, from the nearest on: calls \p fn with the scope that an
/// acquire needs and the view that it gets.
template <class Fn> void forViews(const SyncVariable &variable, Position position, Fn &&fn) {
  if (auto found = variable.blocks.find(position.block); found != variable.blocks.end())
    fn(Scope::Block, found->second);
  if (auto found = variable.clusters.find(position.cluster); found != variable.clusters.end())
    fn(Scope::Cluster, found->second);
  fn(Scope::Device, variable.device);
}

/// Adds what a release of \p scope by a thread at \p position publishes.
void addRelease(const Exec &ex, SyncVariable &variable, Position position, Scope scope,
                const View &view) {
  if (scope == Scope::Device)
    variable.device.join(view);
  // Without narrow acquires all that can read a wide release is in `device`.
  if (scope == Scope::Device && !ex.grid.program->narrowAcquires)
    return;
  if (scope >= Scope::Cluster)
    variable.clusters[position.cluster].join(view);
  variable.blocks[position.block].join(view);
}

} // namespace

void observe(Exec &ex, unsigned lane, const MemRef &ref, Order order, Scope scope, bool updates) {
  if (!isVariable(ref))
    return;
  std::lock_guard<std::mutex> lock(ex.grid.state->syncMutex);
  SyncVariable &variable = ex.grid.state->syncVariables[keyOf(ex, ref)];
  if (!variable.written)
    return;
  noteUnreleasedRead(ex, lane, variable);
  Position position = positionOf(ex);
  Scope needed = scopeBetween(position, {variable.block, variable.cluster});
  bool own = variable.warp == ex.warp.gid && variable.lane == lane;
  LaneState &state = ex.warp.lanes[lane];
  if (!own && (scope < needed || variable.scope < needed)) {
    // Not morally strong: the value is seen without what was released with it.
    if (variable.release.count) {
      bool byAcquire = scope < needed;
      noteMiss(state, {variable.release, byAcquire ? ex.pc : variable.release.pc,
                       byAcquire ? scope : variable.scope, needed, byAcquire});
    }
    if (updates)
      variable.forgetReleases();
    return;
  }
  forViews(variable, position, [&](Scope level, const View &view) {
    if (acquires(order) && level <= scope)
      ownView(ex, lane).join(view);
    else
      readRelaxed(ex, lane, level, view);
  });
  if (!acquires(order)) {
    state.relaxedReadPc = ex.pc;
    state.relaxedReadCount = ex.warp.count;
  }
  if (variable.release.count && variable.release.warp != ex.warp.gid) {
    state.observed = variable.release;
    Scope reach = scopeTo(ex, variable.release);
    if (variable.release.scope < reach)
      noteMiss(state,
               {variable.release, variable.release.pc, variable.release.scope, reach, false});
    else if (acquires(order))
      noteNarrowAcquire(ex, lane, variable.release, scope);
  }
}

void publish(Exec &ex, unsigned lane, const MemRef &ref, Order order, Scope scope, bool updates) {
  if (!isVariable(ref))
    return;
  std::lock_guard<std::mutex> lock(ex.grid.state->syncMutex);
  SyncVariable &variable = ex.grid.state->syncVariables[keyOf(ex, ref)];
  LaneState &state = ex.warp.lanes[lane];
  Position position = positionOf(ex);
  if (!updates)
    variable.forgetReleases();
  variable.written = true;
  variable.warp = ex.warp.gid;
  variable.lane = lane;
  variable.block = position.block;
  variable.cluster = position.cluster;
  variable.scope = scope;
  if (!releases(order) && ref.space == ptx::Space::Global)
    noteUnreleasedWrite(ex, lane, variable);
  if (releases(order)) {
    View view = ex.cluster.newView();
    releaseInto(ex, 1u << lane, view);
    addRelease(ex, variable, position, scope, view);
    variable.release = {ex.warp.gid, lane, ex.warp.count, ex.pc, scope};
    variable.releasedBy = variable.release;
    variable.released = std::make_unique<View>(std::move(view));
    tick(ex);
  } else if (variable.released && variable.releasedBy.warp == ex.warp.gid &&
             variable.releasedBy.lane == lane) {
    // A release of the variable, then a relaxed write by the same thread.
    addRelease(ex, variable, position, variable.releasedBy.scope, *variable.released);
    variable.release = variable.releasedBy;
  }
  for (unsigned i = 0; i < numScopes; ++i) {
    // A releasing write covers more than the fences before it, for the threads that it includes.
    if (!state.fences[i] || (releases(order) && Scope(i) <= scope))
      continue;
    addRelease(ex, variable, position, Scope(i), *state.fences[i]);
    if (!releases(order))
      variable.release = state.fencePoints[i];
  }
  if (state.tensorFence) {
    View view = ex.cluster.newView();
    view.seen.join(*state.tensorFence);
    addRelease(ex, variable, position, scope, view);
  }
}

void fenceMemory(Exec &ex, Order order, Scope scope) {
  forLanes(ex.mask, [&](unsigned lane) {
    LaneState &state = ex.warp.lanes[lane];
    if (acquires(order)) {
      for (unsigned i = 0; i <= unsigned(scope); ++i)
        if (state.pending[i]) {
          ownView(ex, lane).join(*state.pending[i]);
          state.pending[i].reset();
        }
      noteNarrowAcquire(ex, lane, state.observed, scope);
    }
    if (releases(order)) {
      auto snapshot = std::make_unique<View>(ex.cluster.newView());
      releaseInto(ex, 1u << lane, *snapshot);
      state.fences[unsigned(scope)] = std::move(snapshot);
      state.fencePoints[unsigned(scope)] = {ex.warp.gid, lane, ex.warp.count, ex.pc, scope};
    }
  });
  tick(ex);
}

} // namespace penstock::emu
