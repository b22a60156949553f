//===- RunTimeline.cpp - A run on the emulator as a picture ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first block, or the first pair, of a launch on the emulator's
// clock: a row for each role of warps, rows for copies in flight and a row for the
// tensor core. Colors count the tiles that a line of the source copies or multiplies.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Draw/Svg.h"
#include "Draw/SvgWriter.h"
#include "Draw/Trace.h"
#include "Testing/Check/KernelUnderTest.h"
#include "Testing/Run/WarpRows.h"
#include "Timing/Emulated/ChipPace.h"
#include "Timing/Emulated/RunTimes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

using namespace penstock;

namespace {

bool isProduct(const emu::TraceEvent &e) { return actOf(e) == Act::Mma; }
bool isCopy(const emu::TraceEvent &e) { return actOf(e) == Act::Load; }
bool isStore(const emu::TraceEvent &e) { return actOf(e) == Act::Store; }
bool isAnswer(const emu::TraceEvent &e) { return actOf(e) == Act::LaunchControl; }

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
      if (e.what == "wgmma") // the four warps of a warpgroup issue one MMA
        e.warp -= e.warp % 4;
    }
  }

  draw::Timeline timeline() {
    for (uint32_t block = 0; block < blocks; ++block) {
      addWarpRows(result, events, block, note(block));
      lanes(block, "loads", "load", tilesOf(block, isCopy));
      for (uint32_t warp : warpsThat(block, isProduct))
        lanes(block, "tensor core", "MMA", tilesOf(block, isProduct, warp));
      lanes(block, "stores", "store", tilesOf(block, isStore), Work::Kind::Compute);
      lanes(block, "launch control", "answer", tilesOf(block, isAnswer), Work::Kind::Compute);
    }
    return std::move(result);
  }

private:
  std::string note(uint32_t block) const {
    return blocks > 1 ? "block " + std::to_string(block) : "";
  }

  std::set<uint32_t> warpsThat(uint32_t block, bool (*act)(const emu::TraceEvent &)) const {
    std::set<uint32_t> warps;
    for (const emu::TraceEvent &e : events)
      if (e.block == block && act(e))
        warps.insert(e.warp);
    return warps;
  }

  struct Tile {
    int64_t number;
    emu::TraceEvent span;
  };

  /// One entry for each tile: what the same instructions do once, until they begin
  /// again or a commit follows; copies of two tensors for one tile are one entry.
  std::vector<Tile> tilesOf(uint32_t block, bool (*belongs)(const emu::TraceEvent &),
                            std::optional<uint32_t> warp = std::nullopt) {
    std::vector<Tile> tiles;
    std::map<uint32_t, int64_t> parts; // of each source line
    std::map<uint32_t, uint64_t> lastEnd;
    std::vector<uint32_t> instructions; // of the open part
    uint32_t open = 0;
    for (const emu::TraceEvent &e : events) {
      if (e.block != block || e.kind != emu::TraceEvent::Operation ||
          e.warp != warp.value_or(e.warp))
        continue;
      if (e.what == "tcgen05.commit")
        instructions.clear(), open = 0;
      if (!belongs(e))
        continue;
      bool again = std::ranges::find(instructions, e.instruction) != instructions.end();
      // Each thread copies its own pieces with cp.async: they are one while they
      // overlap.
      bool piece = e.what == "cp.async" && lastEnd.count(0) && e.start <= lastEnd[0];
      if (e.what == "cp.async")
        lastEnd[0] = std::max(lastEnd[0], e.end);
      // The MMAs of warpgroups take turns.
      uint64_t gap = e.what == "wgmma" ? 3 * (e.end - e.start) : issueGap;
      bool next = !again && open == e.sourceLine && !tiles.empty() &&
                  e.start <= tiles.back().span.end + gap;
      if (next || (piece && !tiles.empty())) {
        instructions.push_back(e.instruction);
        join(tiles.back().span, e);
        continue;
      }
      instructions = {e.instruction};
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

  /// Adds rows for work that overlaps; the first one has the name.
  void lanes(uint32_t block, const std::string &name, const std::string &label,
             const std::vector<Tile> &tiles, Work::Kind kind = Work::Kind::Work) {
    std::vector<std::pair<unsigned, uint64_t>> rows; // and when each is free
    for (const Tile &tile : tiles) {
      auto free = std::find_if(rows.begin(), rows.end(),
                               [&](const auto &r) { return r.second <= tile.span.start; });
      if (free == rows.end()) {
        result.rows.push_back({name, note(block)});
        rows.emplace_back(unsigned(result.rows.size() - 1), 0);
        free = rows.end() - 1;
      }
      free->second = tile.span.end;
      if (tile.span.end > tile.span.start)
        result.slices.push_back({kind, free->first, label, tile.number, int64_t(tile.span.start),
                                 int64_t(tile.span.end),
                                 "line " + std::to_string(tile.span.sourceLine),
                                 Work::Cause::Unknown});
    }
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
           const std::vector<emu::TraceEvent> &events, const std::vector<StorageName> &names)
      : timeline(timeline), names(names) {
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
    bool noted = !timeline.rows.empty() && timeline.rows[0].note.ends_with("block 0");
    for (const auto &[key, slot] : slots) {
      const auto &[block, tile, number] = key;
      if (slot.fills.empty())
        continue;
      std::string where = placeOf(tile, number);
      timeline.rows.push_back({tile + "[" + std::to_string(number) + "]",
                               noted ? where + ", block " + std::to_string(block) : where});
      const std::vector<uint64_t> &times = starts[{block, tile}];
      uint64_t readUntil = 0; // the data before
      for (const Fill &fill : slot.fills) {
        auto nth = std::lower_bound(times.begin(), times.end(), fill.start) - times.begin();
        add(Work::Kind::Filling, "in flight", nth, fill.start, fill.end);
        add(Work::Kind::Full, "full", nth, fill.end, fill.lastRead);
        add(Work::Kind::Conflict, "race", nth, fill.start, std::min(readUntil, fill.end));
        readUntil = std::max(readUntil, fill.lastRead);
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

  /// The bytes of shared memory that a slot takes.
  std::string placeOf(const std::string &tile, uint64_t number) const {
    auto name = std::ranges::find_if(names, [&](const StorageName &each) {
      return each.kind == StorageName::Shared && each.name == tile;
    });
    if (name == names.end())
      return "";
    uint64_t first = name->first + number * name->slot;
    return draw::number(double(first) / 1024) + "-" +
           draw::number(double(first + name->slot) / 1024) + " KiB";
  }

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
  const std::vector<StorageName> &names;
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
  RingRows(timeline, accesses, events, on.variant->kernel.names).write();
  timeline.title = kernel + " on the emulator, " + textOf(shape);
  bool oneBlock = timeline.rows.empty() || !timeline.rows[0].note.ends_with("block 0");
  timeline.subtitle =
      (block == 0 ? std::string(oneBlock ? "the first block" : "the first cluster")
                  : (oneBlock ? "block " : "the cluster of block ") + std::to_string(block)) +
      "; cycles of " + chip.name + "; numbers are source lines; hatched: all warps of a row wait";
  picture.svg = draw::toSvg(timeline);
  picture.trace = draw::toTrace(timeline);
  return picture;
}
