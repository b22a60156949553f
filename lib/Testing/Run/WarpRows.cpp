//===- WarpRows.cpp - Rows of a timeline for warps ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Run/WarpRows.h"

#include <algorithm>
#include <map>
#include <set>

using namespace penstock;
using emu::TraceEvent;
using Engine = emu::AsyncWork::Engine;

Act penstock::actOf(const TraceEvent &e) {
  if (e.kind != TraceEvent::Operation)
    return Act::Other;
  if (e.what.starts_with("tcgen05.mma") || e.what == "wgmma")
    return Act::Mma;
  // The answer of launch control comes like a copy.
  if (e.what == "a copy of 16 bytes")
    return Act::LaunchControl;
  if (e.what.find("copy") != std::string::npos || e.what == "cp.async")
    return Act::Load;
  // Until the shared tile has been read, which is what kernels wait for.
  if (e.what.find("reading half") != std::string::npos)
    return Act::Store;
  return Act::Other;
}

namespace {

using Slice = draw::Slice;

unsigned lineOf(const TraceEvent &e) { return e.sourceLine ? e.sourceLine : e.ptxLine; }

Slice::Cause causeOf(const TraceEvent &wait) {
  switch (wait.engine) {
  case Engine::None:
    return Slice::Cause::Warps;
  case Engine::Load:
  case Engine::ThreadLoad:
    return Slice::Cause::Copy;
  case Engine::Store:
  case Engine::StoreEnd:
    return Slice::Cause::Store;
  case Engine::Product:
    return Slice::Cause::Product;
  }
  return Slice::Cause::Unknown;
}

struct Span {
  uint64_t start, end;
  const TraceEvent *event;
};

/// Operations, waits and work of one warp, in the order of time.
struct WarpFacts {
  bool loads = false, multiplies = false, asks = false, wgmma = false;
  std::set<unsigned> waitsAt; ///< lines at which loads or MMAs end a wait
  std::vector<Span> waits, work;
};

class Rows {
public:
  Rows(const std::vector<TraceEvent> &events, uint32_t block) {
    for (const TraceEvent &e : events) {
      Act act = actOf(e);
      if (act == Act::Mma) { // the first block of a pair multiplies for both
        firstMma = std::min(firstMma, e.start);
        lastMma = std::max(lastMma, e.start);
      }
      if (e.block != block)
        continue;
      WarpFacts &warp = warps[e.warp];
      warp.loads |= act == Act::Load && e.engine == Engine::Load;
      warp.asks |= act == Act::LaunchControl;
      if (act == Act::Mma) {
        warp.multiplies = true;
        warp.wgmma |= e.what == "wgmma";
      }
      end = std::max(end, e.end);
      if (e.end <= e.start)
        continue;
      if (e.kind == TraceEvent::Wait) {
        warp.waits.push_back({e.start, e.end, &e});
        if (e.engine == Engine::Load || e.engine == Engine::Product)
          warp.waitsAt.insert(lineOf(e));
      } else if (e.kind == TraceEvent::Work) {
        warp.work.push_back({e.start, e.end, &e});
      }
    }
    // The four warps of a warpgroup issue one MMA, and the trace names one of them.
    for (auto &[index, warp] : warps)
      if (warp.wgmma)
        for (auto &[other, same] : warps)
          if (other / 4 == index / 4)
            same.wgmma = same.multiplies = true;
    for (auto &[index, warp] : warps)
      for (std::vector<Span> *spans : {&warp.waits, &warp.work})
        std::ranges::sort(*spans, {}, &Span::start);
  }

  void write(draw::Timeline &timeline, const std::string &note) {
    for (auto first = warps.begin(); first != warps.end();) {
      auto last = first;
      while (std::next(last) != warps.end() && together(*last, *std::next(last)))
        ++last;
      std::vector<const WarpFacts *> group;
      for (auto at = first; at != std::next(last); ++at)
        group.push_back(&at->second);
      std::string who = first == last ? "warp " + std::to_string(first->first)
                                      : "warps " + std::to_string(first->first) + "-" +
                                            std::to_string(last->first);
      timeline.rows.push_back({roleOf(group), note.empty() ? who : who + ", " + note});
      unsigned row = unsigned(timeline.rows.size() - 1);
      std::vector<Span> waits = waitsOfAll(group);
      for (const Span &wait : waits)
        timeline.slices.push_back({Slice::Kind::Wait, row, "wait", 0, int64_t(wait.start),
                                   int64_t(wait.end), "line " + std::to_string(lineOf(*wait.event)),
                                   causeOf(*wait.event)});
      addWork(timeline, row, group, waits);
      first = std::next(last);
    }
  }

private:
  using Entry = std::pair<const uint32_t, WarpFacts>;

  /// Returns true if two neighbors have one role. Warpgroups that multiply have a row each.
  static bool together(const Entry &a, const Entry &b) {
    if (a.second.wgmma || b.second.wgmma)
      return a.first / 4 == b.first / 4;
    return b.first == a.first + 1 && a.second.loads == b.second.loads &&
           a.second.multiplies == b.second.multiplies && a.second.asks == b.second.asks &&
           a.second.waitsAt == b.second.waitsAt;
  }

  std::string roleOf(const std::vector<const WarpFacts *> &group) const {
    const WarpFacts &warp = *group.front();
    bool exponentials = false;
    uint64_t during = 0, after = 0;
    for (const WarpFacts *each : group)
      for (const Span &work : each->work)
        if (work.start > firstMma && work.start < lastMma) {
          exponentials |= work.event->special;
          during += work.end - work.start;
        } else if (work.start >= lastMma) {
          after += work.end - work.start;
        }
    std::string role = warp.loads ? "load" : "";
    auto add = [&](const char *what) { role += (role.empty() ? "" : ", ") + std::string(what); };
    if (warp.asks)
      add("launch control");
    if (warp.multiplies)
      add("MMA");
    if (exponentials && lastMma > firstMma)
      add("softmax");
    if (!role.empty())
      return role;
    // Threads that mostly wait while the tensor core works store what it leaves.
    if (lastMma <= firstMma || during >= (lastMma - firstMma) * group.size() / 4)
      return "compute";
    return !warp.waitsAt.empty() || after > end * group.size() / 50 ? "epilogue" : "idle";
  }

  /// The times in which every warp of a group waits. A wait for the other warps of the group
  /// is what these wait for.
  static std::vector<Span> waitsOfAll(const std::vector<const WarpFacts *> &group) {
    std::vector<Span> all = group.front()->waits;
    for (size_t i = 1; i < group.size(); ++i) {
      const std::vector<Span> &other = group[i]->waits;
      std::vector<Span> both;
      size_t a = 0, b = 0;
      while (a < all.size() && b < other.size()) {
        Span span{std::max(all[a].start, other[b].start), std::min(all[a].end, other[b].end),
                  causeOf(*all[a].event) == Slice::Cause::Warps ? other[b].event : all[a].event};
        if (span.start < span.end)
          both.push_back(span);
        all[a].end < other[b].end ? ++a : ++b;
      }
      all = std::move(both);
    }
    return all;
  }

  /// The source line that most warps execute, for each piece of the time in which one works.
  void addWork(draw::Timeline &timeline, unsigned row, const std::vector<const WarpFacts *> &group,
               const std::vector<Span> &waits) const {
    const uint64_t piece = std::max<uint64_t>(end / pieces, 1);
    std::vector<std::map<unsigned, uint64_t>> cycles(size_t(end / piece) + 1); // by line
    for (const WarpFacts *warp : group)
      for (const Span &work : warp->work)
        for (uint64_t at = work.start; at < work.end;) {
          uint64_t next = std::min(work.end, (at / piece + 1) * piece);
          cycles[size_t(at / piece)][lineOf(*work.event)] += next - at;
          at = next;
        }
    for (const Span &wait : waits) // a piece that is mostly a wait belongs to it
      for (uint64_t at = wait.start / piece; at * piece < wait.end; ++at) {
        uint64_t from = std::max(wait.start, at * piece), to = std::min(wait.end, (at + 1) * piece);
        if (2 * (to - from) > piece)
          cycles[size_t(at)].clear();
      }
    for (size_t first = 0; first < cycles.size(); ++first) {
      if (cycles[first].empty())
        continue;
      size_t last = first; // of what is not interrupted
      while (last + 1 < cycles.size() && !cycles[last + 1].empty())
        ++last;
      for (size_t at = first; at <= last;) {
        // A line of its own, or lines that are too short to be told apart.
        size_t next = runOf(cycles, at, last);
        unsigned low = mostOf(cycles[at]), high = low;
        if (next - at < wide)
          for (; next <= last && runOf(cycles, next, last) - next < wide;
               next = runOf(cycles, next, last)) {
            low = std::min(low, mostOf(cycles[next]));
            high = std::max(high, mostOf(cycles[next]));
          }
        std::string name = high == 0 ? "work"
                           : low == high
                               ? "line " + std::to_string(low)
                               : "lines " + std::to_string(low) + "-" + std::to_string(high);
        timeline.slices.push_back({Slice::Kind::Compute, row, name, 0, int64_t(at * piece),
                                   int64_t(std::min<uint64_t>(next * piece, end)), "",
                                   Slice::Cause::Unknown});
        at = next;
      }
      first = last;
    }
  }

  /// The end of the pieces from `at` on in which the same line is executed.
  static size_t runOf(const std::vector<std::map<unsigned, uint64_t>> &cycles, size_t at,
                      size_t last) {
    size_t next = at + 1;
    while (next <= last && mostOf(cycles[next]) == mostOf(cycles[at]))
      ++next;
    return next;
  }

  static unsigned mostOf(const std::map<unsigned, uint64_t> &cycles) {
    auto most = std::ranges::max_element(cycles, {}, [](const auto &c) { return c.second; });
    return most == cycles.end() ? 0 : most->first;
  }

  /// Resolution of work in a picture.
  static constexpr uint64_t pieces = 240;
  /// Pieces in which the name of a line can be read.
  static constexpr size_t wide = 5;

  std::map<uint32_t, WarpFacts> warps;
  uint64_t firstMma = ~uint64_t(0), lastMma = 0, end = 0;
};

} // namespace

void penstock::addWarpRows(draw::Timeline &timeline, const std::vector<TraceEvent> &events,
                           uint32_t block, const std::string &note) {
  Rows(events, block).write(timeline, note);
}
