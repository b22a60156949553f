//===- Views.cpp - Release and acquire ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/HappensBefore.h"

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

void releaseFenced(const LaneState &lane, Scope needed, View &into) {
  for (unsigned scope = unsigned(needed); scope < numScopes; ++scope)
    if (lane.fences[scope])
      into.join(*lane.fences[scope]);
  if (lane.tensorFence)
    into.seen.join(*lane.tensorFence);
}

void readRelaxed(Exec &ex, unsigned lane, Scope needed, const View &from) {
  std::unique_ptr<View> &pending = ex.warp.lanes[lane].pending[unsigned(needed)];
  if (!pending)
    pending = std::make_unique<View>(ex.cluster.newView());
  pending->join(from);
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

} // namespace penstock::emu
