//===- Unreleased.cpp - Values handed over without an order ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Unreleased.h"

#include <algorithm>

namespace penstock::emu {
namespace {

/// Limits of the recorded writes per variable and reads per block.
constexpr size_t maxWrites = 4, maxReads = 16;

template <class T> void addLast(std::vector<T> &list, size_t most, T value) {
  if (list.size() == most)
    list.erase(list.begin());
  list.push_back(std::move(value));
}

bool isBy(const ReleasePoint &point, uint32_t warp, unsigned lane) {
  return point.warp == warp && point.lane == lane;
}

/// Returns the view that a release by \p lane would publish. The lanes of a warp share it until the
/// warp releases something, so that a loop of relaxed atomics copies it once.
std::shared_ptr<const View> wouldPublish(Exec &ex, unsigned lane) {
  Warp &warp = ex.warp;
  bool own = warp.lanes[lane].view != nullptr;
  if (!own && warp.unreleased && warp.unreleasedCount == warp.count)
    return warp.unreleased;
  auto view = std::make_shared<View>(ex.cluster.newView());
  releaseInto(ex, own ? 1u << lane : warp.live, *view);
  if (own)
    return view;
  warp.unreleased = view;
  warp.unreleasedCount = warp.count;
  return view;
}

bool knowsRecord(const Clock &seen, const AccessRecord &record) {
  bool all = true;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (record.lanes >> lane & 1)
      all &=
          seen.warp(record.agent) >= record.count || seen.lane(record.agent, lane) >= record.count;
  return all;
}

/// Returns whether \p lane of ex's warp is that thread, or is ordered after its \p count.
bool follows(const Exec &ex, unsigned lane, uint32_t warp, unsigned of, uint32_t count) {
  if (warp == ex.warp.gid && of == lane)
    return true;
  const LaneState &state = ex.warp.lanes[lane];
  const Clock &seen = (state.view ? *state.view : ex.warp.view).seen;
  return seen.warp(warp) >= count || seen.lane(warp, of) >= count;
}

} // namespace

void noteUnreleasedWrite(Exec &ex, unsigned lane, SyncVariable &variable) {
  // An earlier fence makes the write a release of the accesses before the fence.
  const ScopedViews &fences = ex.warp.lanes[lane].fences;
  if (std::any_of(fences.begin(), fences.end(), [](const auto &view) { return bool(view); }))
    return;
  std::erase_if(variable.unreleased,
                [&](const UnreleasedWrite &write) { return isBy(write.point, ex.warp.gid, lane); });
  addLast(variable.unreleased, maxWrites,
          {{ex.warp.gid, lane, ex.warp.count, ex.pc, Scope::Device}, wouldPublish(ex, lane)});
}

void noteUnreleasedRead(Exec &ex, unsigned lane, const SyncVariable &variable) {
  std::vector<UnreleasedRead> &reads = ex.cta.unreleasedReads;
  for (const UnreleasedWrite &write : variable.unreleased) {
    // Threads of one warp share access records.
    if (write.point.warp == ex.warp.gid)
      continue;
    bool known = std::any_of(reads.begin(), reads.end(), [&](const UnreleasedRead &read) {
      return read.warp == ex.warp.gid && read.lane == lane && read.write.view == write.view &&
             read.write.point.pc == write.point.pc;
    });
    if (!known)
      addLast(reads, maxReads, {write, ex.warp.gid, lane, ex.warp.count});
  }
}

std::optional<RelaxedSide> relaxedBetween(const Exec &ex, unsigned lane,
                                          const AccessRecord &record) {
  if (record.flags & AccessRecord::Engine)
    return {};
  const std::vector<UnreleasedRead> &reads = ex.cta.unreleasedReads;
  auto found = std::find_if(reads.rbegin(), reads.rend(), [&](const UnreleasedRead &read) {
    return ex.grid.blockOf(read.write.point.warp) - ex.grid.firstBlock < ex.grid.numBlocks() &&
           knowsRecord(read.write.view->seen, record) &&
           follows(ex, lane, read.warp, read.lane, read.count);
  });
  if (found != reads.rend()) {
    const ReleasePoint &point = found->write.point;
    return RelaxedSide{point.warp, point.lane, point.pc, false};
  }
  for (const auto &warp : ex.cta.warps)
    for (unsigned of = 0; of < 32; ++of) {
      const LaneState &state = warp->lanes[of];
      bool released =
          std::any_of(state.pending.begin(), state.pending.end(),
                      [&](const auto &view) { return view && knowsRecord(view->seen, record); });
      if (released && state.relaxedReadPc != noPc &&
          follows(ex, lane, warp->gid, of, state.relaxedReadCount))
        return RelaxedSide{warp->gid, of, state.relaxedReadPc, true};
    }
  return {};
}

} // namespace penstock::emu
