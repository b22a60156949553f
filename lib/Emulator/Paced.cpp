//===- Paced.cpp - A run on a clock ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For pictures of what overlaps: every warp has a clock that each of its
// instructions advances by one, an operation completes its latency after it was
// issued, and what comes first on these clocks happens first. Warps share nothing
// that would slow them down, so the times say what waits for what, not how long a
// GPU takes.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Machine.h"

#include <algorithm>

namespace penstock::emu {
namespace {

TraceEvent traceOf(const Grid &grid, TraceEvent::Kind kind, const Warp &warp, uint32_t pc) {
  TraceEvent event;
  event.kind = kind;
  event.block = warp.cta->rank;
  event.warp = warp.index;
  if (const ptx::Instruction *inst = grid.program->code[pc].source) {
    event.ptxLine = inst->line;
    event.sourceLine = inst->loc.line;
  }
  return event;
}

/// Polls without success after which a split only waits.
constexpr uint32_t idlePolls = 2;

/// Whether the split waits and nothing has happened since it last looked.
bool isIdle(const Split &split, uint64_t progress) {
  return (split.blocked && split.triedAt >= progress) ||
         (split.polls >= idlePolls && split.polledAt == progress);
}

} // namespace

void Cluster::pace(Event &event) {
  uint64_t latency = grid->options.latency ? grid->options.latency(event.what) : 0;
  event.issuer = running;
  event.issued = now;
  event.due = now + latency;
  // Operations of one chain follow each other, but a thread's copies are under way
  // together and only complete in order.
  bool together = event.what == "cp.async";
  for (const auto &other : events)
    if (event.chain && other->chain == event.chain) {
      if (!together)
        event.issued = std::max(event.issued, other->due);
      event.due = std::max(event.due, other->due + (together ? 0 : latency));
    }
}

bool Cluster::stepPaced() {
  Warp *warp = nullptr;
  size_t chosen = 0;
  for (auto &cta : ctas)
    for (auto &candidate : cta->warps)
      for (size_t s = 0; s < candidate->splits.size(); ++s)
        if (!isIdle(candidate->splits[s], progress) && (!warp || candidate->clock < warp->clock)) {
          warp = candidate.get();
          chosen = s;
        }
  auto first = std::min_element(events.begin(), events.end(),
                                [](auto &a, auto &b) { return a->due < b->due; });
  bool traced = index == grid->tracedCluster && grid->options.onTrace;
  if (first != events.end() && (!warp || (*first)->due <= warp->clock)) {
    const Event &event = **first;
    now = std::max(now, event.due);
    running = event.issuer;
    if (traced && event.issuer) {
      TraceEvent trace = traceOf(*grid, TraceEvent::Operation, *event.issuer, event.pc);
      trace.what = event.what;
      trace.start = event.issued;
      trace.end = event.due;
      grid->options.onTrace(trace);
    }
    return runEvent(size_t(first - events.begin()));
  }
  if (!warp)
    return false;
  uint32_t pc = warp->splits[chosen].pc;
  bool waited = warp->splits[chosen].waitPc == pc;
  uint64_t since = warp->splits[chosen].waitSince;
  // Who waited goes on at the time of what it waited for.
  if (waited || warp->splits[chosen].polls)
    warp->clock = std::max(warp->clock, now);
  now = std::max(now, warp->clock);
  running = warp;
  size_t splits = warp->splits.size();
  runSplit(*warp, chosen, 1);
  ++warp->clock;
  if (warp->splits.size() != splits)
    return true; // lanes parted, met or left
  Split &split = warp->splits[chosen];
  if (split.blocked && !waited) {
    split.waitPc = pc;
    split.waitSince = now;
  }
  if (split.blocked || !waited)
    return true;
  split.waitPc = noPc;
  if (traced) {
    TraceEvent trace = traceOf(*grid, TraceEvent::Wait, *warp, pc);
    trace.what = split.waitsFor;
    trace.start = since;
    trace.end = now;
    grid->options.onTrace(trace);
  }
  return true;
}

} // namespace penstock::emu
