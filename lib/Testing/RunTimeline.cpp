//===- RunTimeline.cpp - A run on the emulator as a picture ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the first block, or the first pair, of a launch does on the emulator's
// clock: a row for each warp with its waits, rows for copies under way and a row
// for the tensor core. Colors count the tiles that a line of the source copies or
// multiplies.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Draw/Svg.h"
#include "Draw/Trace.h"
#include "Testing/ChipPace.h"
#include "Testing/KernelUnderTest.h"
#include "Testing/RunTimes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

using namespace penstock;

namespace {

bool isProduct(const emu::TraceEvent &e) {
  return e.what.starts_with("tcgen05.mma") || e.what == "wgmma";
}
/// The answer of launch control comes like a copy.
bool isAnswer(const emu::TraceEvent &e) { return e.what == "a copy of 16 bytes"; }
bool isCopy(const emu::TraceEvent &e) {
  return (e.what.find("copy") != std::string::npos || e.what == "cp.async") && !isAnswer(e);
}
/// Until the shared tile has been read, which is what kernels wait for.
bool isStore(const emu::TraceEvent &e) { return e.what.find("reading half") != std::string::npos; }

using Work = draw::Slice;

/// Joins what belongs to one tile and puts work that overlaps on rows of its own.
class Picture {
public:
  explicit Picture(std::vector<emu::TraceEvent> traced) : events(std::move(traced)) {
    // A commit ends a tile, and the next one may start in the same cycle.
    auto order = [](const emu::TraceEvent &e) {
      return std::tuple(e.start, e.what != "tcgen05.commit", e.end, e.ptxLine, e.warp);
    };
    std::sort(events.begin(), events.end(),
              [&](const auto &a, const auto &b) { return order(a) < order(b); });
    for (emu::TraceEvent &e : events) {
      blocks = std::max(blocks, e.block + 1);
      if (isProduct(e)) // its result comes later, beside the next product
        e.end = e.busyUntil;
    }
  }

  draw::Timeline timeline() {
    for (uint32_t block = 0; block < blocks; ++block) {
      waits(block);
      lanes(block, "copies", "load", tilesOf(block, isCopy));
      // The four warps of a warpgroup issue one product.
      for (uint32_t warp : warpsThat(block, isProduct))
        if (warp % 4 == 0 || !warpgroups())
          lanes(block, "tensor core", "product", tilesOf(block, isProduct, warp));
      lanes(block, "stores", "store", tilesOf(block, isStore));
      lanes(block, "launch control", "answer", tilesOf(block, isAnswer));
    }
    return std::move(result);
  }

private:
  unsigned row(uint32_t block, const std::string &name) {
    result.rows.push_back({name, blocks > 1 ? "block " + std::to_string(block) : ""});
    return unsigned(result.rows.size() - 1);
  }

  std::set<uint32_t> warpsThat(uint32_t block, bool (*act)(const emu::TraceEvent &)) const {
    std::set<uint32_t> warps;
    for (const emu::TraceEvent &e : events)
      if (e.block == block && e.kind == emu::TraceEvent::Operation && act(e))
        warps.insert(e.warp);
    return warps;
  }
  bool warpgroups() const {
    return std::any_of(events.begin(), events.end(),
                       [](const auto &e) { return e.what == "wgmma"; });
  }

  void waits(uint32_t block) {
    std::map<uint32_t, unsigned> rowOf;
    for (const emu::TraceEvent &e : events)
      if (e.block == block)
        rowOf[e.warp] = 0;
    for (auto &[warp, index] : rowOf)
      index = row(block, "warp " + std::to_string(warp));
    for (const emu::TraceEvent &e : events)
      if (e.block == block && e.kind == emu::TraceEvent::Wait)
        add(Work::Kind::Wait, rowOf[e.warp], "wait", 0, e,
            "line " + std::to_string(e.sourceLine ? e.sourceLine : e.ptxLine), causeOf(e));
  }

  struct Tile {
    int64_t number;
    emu::TraceEvent span;
  };

  /// One entry for each tile: what the same lines of PTX do once, until they begin
  /// again or a commit follows; copies of two tensors for one tile are one entry.
  std::vector<Tile> tilesOf(uint32_t block, bool (*belongs)(const emu::TraceEvent &),
                            std::optional<uint32_t> warp = std::nullopt) {
    std::vector<Tile> tiles;
    std::map<uint32_t, int64_t> parts; // of each source line
    std::map<uint32_t, uint64_t> lastEnd;
    std::vector<uint32_t> lines; // of PTX, in the open part
    uint32_t open = 0;
    for (const emu::TraceEvent &e : events) {
      if (e.block != block || e.kind != emu::TraceEvent::Operation ||
          e.warp != warp.value_or(e.warp))
        continue;
      if (e.what == "tcgen05.commit")
        lines.clear(), open = 0;
      if (!belongs(e))
        continue;
      bool again = std::find(lines.begin(), lines.end(), e.ptxLine) != lines.end();
      // Each thread copies its own pieces with cp.async: they are one while they
      // overlap.
      bool piece = e.what == "cp.async" && lastEnd.count(0) && e.start <= lastEnd[0];
      if (e.what == "cp.async")
        lastEnd[0] = std::max(lastEnd[0], e.end);
      bool next = !again && open == e.sourceLine && !tiles.empty() &&
                  e.start <= tiles.back().span.end + issueGap;
      if (next || (piece && !tiles.empty())) {
        lines.push_back(e.ptxLine);
        join(tiles.back().span, e);
        continue;
      }
      lines = {e.ptxLine};
      open = e.sourceLine;
      int64_t number = e.what == "cp.async" ? int64_t(tiles.size()) : parts[e.sourceLine]++;
      auto same = std::find_if(tiles.rbegin(), tiles.rend(), [&](const Tile &tile) {
        return tile.number == number && tile.span.warp == e.warp &&
               e.start <= tile.span.start + issuedTogether;
      });
      if (same != tiles.rend() && isCopy(e))
        join(same->span, e);
      else
        tiles.push_back({number, e});
    }
    return tiles;
  }

  static void join(emu::TraceEvent &into, const emu::TraceEvent &e) {
    into.start = std::min(into.start, e.start);
    into.end = std::max(into.end, e.end);
  }

  void lanes(uint32_t block, const std::string &name, const std::string &label,
             const std::vector<Tile> &tiles) {
    std::vector<std::pair<unsigned, uint64_t>> rows; // and when each is free
    for (const Tile &tile : tiles) {
      auto free = std::find_if(rows.begin(), rows.end(),
                               [&](const auto &r) { return r.second <= tile.span.start; });
      if (free == rows.end()) {
        rows.emplace_back(row(block, name), 0);
        free = rows.end() - 1;
      }
      free->second = tile.span.end;
      add(Work::Kind::Work, free->first, label, tile.number, tile.span,
          "line " + std::to_string(tile.span.sourceLine));
    }
  }

  void add(Work::Kind kind, unsigned at, const std::string &name, int64_t number,
           const emu::TraceEvent &e, std::string detail, Work::Cause cause = Work::Cause::Unknown) {
    if (e.end > e.start)
      result.slices.push_back(
          {kind, at, name, number, int64_t(e.start), int64_t(e.end), std::move(detail), cause});
  }

  static Work::Cause causeOf(const emu::TraceEvent &wait) {
    using Engine = emu::AsyncWork::Engine;
    switch (wait.engine) {
    case Engine::None:
      return Work::Cause::Warps;
    case Engine::Load:
    case Engine::ThreadLoad:
      return Work::Cause::Copy;
    case Engine::Store:
    case Engine::StoreEnd:
      return Work::Cause::Store;
    case Engine::Product:
      return Work::Cause::Product;
    }
    return Work::Cause::Unknown;
  }

  /// Copies that start this soon after each other are for the same tile.
  static constexpr uint64_t issuedTogether = 320;
  /// Cycles between the products of one tile.
  static constexpr uint64_t issueGap = 16;

  std::vector<emu::TraceEvent> events;
  uint32_t blocks = 1;
  draw::Timeline result;
};

/// Adds a row for each slot of a ring. A slot is in flight from the issue of the first copy into it
/// until the last one has arrived, or while threads write it; then it is full until its last
/// read, and empty until the next copy.
class RingRows {
public:
  RingRows(draw::Timeline &timeline, const std::vector<emu::SlotAccess> &accesses,
           const std::vector<emu::TraceEvent> &events)
      : timeline(timeline) {
    for (const emu::TraceEvent &event : events)
      if (event.kind == emu::TraceEvent::Operation)
        operations[{event.block, event.warp, event.ptxLine}].push_back(&event);
    for (auto &[issuer, all] : operations)
      std::ranges::sort(all, {}, [](const auto *e) { return std::pair(e->start, e->end); });
    for (const emu::SlotAccess &access : accesses) {
      Slot &slot = slots[{access.block, access.tile, access.slot}];
      uint64_t end = access.isAsync ? endOf(access) : access.time;
      if (!access.isWrite) {
        if (!slot.fills.empty())
          slot.fills.back().lastRead = std::max(slot.fills.back().lastRead, end);
        continue;
      }
      if (slot.fills.empty() || slot.fills.back().lastRead)
        slot.fills.push_back({access.time, end, 0});
      slot.fills.back().end = std::max(slot.fills.back().end, end);
    }
  }

  void write() {
    std::map<std::pair<uint32_t, std::string>, std::vector<uint64_t>> starts; // of all slots
    for (auto &[key, slot] : slots)
      for (const Fill &fill : slot.fills)
        starts[{std::get<0>(key), std::get<1>(key)}].push_back(fill.start);
    for (auto &[tile, times] : starts)
      std::sort(times.begin(), times.end());
    bool noted = !timeline.rows.empty() && !timeline.rows[0].note.empty();
    for (const auto &[key, slot] : slots) {
      const auto &[block, tile, number] = key;
      if (slot.fills.empty())
        continue;
      timeline.rows.push_back({tile + "[" + std::to_string(number) + "]",
                               noted ? "block " + std::to_string(block) : ""});
      const std::vector<uint64_t> &times = starts[{block, tile}];
      for (const Fill &fill : slot.fills) {
        auto nth = std::lower_bound(times.begin(), times.end(), fill.start) - times.begin();
        add(Work::Kind::Filling, "in flight", nth, fill.start, fill.end);
        add(Work::Kind::Full, "full", nth, fill.end, fill.lastRead);
      }
    }
  }

private:
  struct Fill {
    uint64_t start, end; ///< from the issue of the first write to the last one
    uint64_t lastRead;   ///< 0: never
  };
  struct Slot {
    std::vector<Fill> fills;
  };

  using Issuer = std::tuple<uint32_t, uint32_t, uint32_t>; ///< block, warp, line of PTX

  /// End of the operation of an access: those of one line start in the order of their issue.
  uint64_t endOf(const emu::SlotAccess &access) {
    Issuer issuer{access.issuerBlock, access.issuerWarp, access.ptxLine};
    std::vector<uint64_t> &times = issued[issuer];
    if (times.empty() || times.back() != access.time)
      times.push_back(access.time);
    const std::vector<const emu::TraceEvent *> &all = operations[issuer];
    return times.size() <= all.size() ? std::max(access.time, all[times.size() - 1]->end)
                                      : access.time;
  }

  void add(Work::Kind kind, const std::string &name, int64_t number, uint64_t from, uint64_t to) {
    if (to > from)
      timeline.slices.push_back({kind, unsigned(timeline.rows.size() - 1), name, number,
                                 int64_t(from), int64_t(to), "", Work::Cause::Unknown});
  }

  draw::Timeline &timeline;
  std::map<Issuer, std::vector<const emu::TraceEvent *>> operations;
  std::map<Issuer, std::vector<uint64_t>> issued; ///< when, of those with accesses
  std::map<std::tuple<uint32_t, std::string, uint64_t>, Slot> slots;
};

} // namespace

RunPicture penstock::draw_run(const std::string &kernel, Target target, const Shape &shape,
                              const DrawOptions &wanted) {
  RunPicture picture;
  const uint32_t block = wanted.block;
  auto tested = compileRegistered(kernel, target, wanted.set, picture.diagnostics, wanted.contract);
  if (!tested)
    return picture;
  Case on = prepareCase(*tested, shape, Data::Exact, 1);
  picture.diagnostics = on.problems;
  if (!on.variant || !on.problems.empty())
    return picture;
  std::vector<emu::TraceEvent> events;
  emu::LaunchOptions options;
  options.timing = emu::Timing::Paced;
  options.threads = 1;
  const hw::Chip &chip = chipForRuns(on.variant->kernel.architecture);
  ChipPace pace(chip);
  options.pace = &pace;
  options.traceBlock = block;
  options.onTrace = [&](const emu::TraceEvent &event) { events.push_back(event); };
  std::vector<emu::SlotAccess> accesses;
  if (wanted.slots)
    options.onSlotAccess = [&](const emu::SlotAccess &access) {
      if (accesses.empty() || accesses.back() != access)
        accesses.push_back(access);
    };
  std::vector<emu::PacedTotals> totals; // of each SM
  options.onTotals = [&](const emu::PacedTotals &all) { totals.push_back(all); };
  Run run = runCase(*tested, *on.variant, on, options);
  picture.diagnostics = run.report.findings;
  if (run.report.completed && block >= run.report.stats.blocks) {
    Diagnostic d;
    d.code = ToolUsage;
    d.message = "there is no block " + std::to_string(block) + "; the launch has " +
                std::to_string(run.report.stats.blocks);
    picture.diagnostics.push_back(std::move(d));
    return picture;
  }
  picture.times = runTimes(events, totals);
  picture.times.chip = chip.name;
  draw::Timeline timeline = Picture(events).timeline();
  RingRows(timeline, accesses, events).write();
  timeline.title = kernel + " on the emulator, " + textOf(shape);
  bool oneBlock = timeline.rows.empty() || timeline.rows[0].note.empty();
  timeline.subtitle =
      (block == 0 ? std::string(oneBlock ? "the first block" : "the first cluster")
                  : (oneBlock ? "block " : "the cluster of block ") + std::to_string(block)) +
      "; cycles of " + chip.name + "; hatched: a warp waits, with the line at which it does";
  picture.svg = draw::toSvg(timeline);
  picture.trace = draw::toTrace(timeline);
  return picture;
}
