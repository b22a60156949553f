//===- HappensBefore.cpp - Happens-before, and what breaks it -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/HappensBefore.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Races/Conflict.h"
#include "Emulator/Races/Rounding.h"
#include "Emulator/Tensor/TensorMap.h"
#include "Emulator/Tensor/TensorMemory.h"

#include <algorithm>
#include <cstring>

namespace penstock::emu {
namespace {

/// Returns whether lanes of a warp that read at \p count have done so before any lane of this warp
/// that \p clock knows went on: a collective instruction lies between.
bool readBeforeCollective(const Exec &ex, const Clock &clock, uint32_t gid, uint32_t count) {
  uint32_t first = ex.cluster.firstWarp;
  uint32_t perCta = ex.grid.warpsPerCta;
  if (gid < first || gid - first >= perCta * ex.cluster.ctas.size())
    return false;
  const Warp &warp = *ex.cluster.ctas[(gid - first) / perCta]->warps[(gid - first) % perCta];
  auto next = std::lower_bound(warp.collectives.begin(), warp.collectives.end(), count);
  if (next == warp.collectives.end())
    return false;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (clock.lane(gid, lane) > *next)
      return true;
  return false;
}

/// Returns whether \p clock knows that a lane of a warp has gone on since \p count.
bool knowsALane(const Clock &clock, uint32_t gid, uint32_t count) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (clock.lane(gid, lane) >= count)
      return true;
  return false;
}

/// Returns whether other threads have signaled that \p op, or with \p readsOnly its reads,
/// completed.
bool knowsOver(const Clock &clock, const AsyncOp &op, bool readsOnly) {
  auto passed = [&](uint64_t agent, uint32_t count) {
    return agent && clock.agent(agent | Clock::overAgent) >= count;
  };
  return passed(op.agent[0], op.count[0]) || passed(op.agent[1], op.count[1]) ||
         (readsOnly && passed(op.readAgent, op.readCount));
}

/// Returns whether an earlier access is ordered before one by \p lane of ex's warp (\p engine: by
/// an operation that this lane issues now). \p overwrites: the later one is a write.
Ordered ordered(Exec &ex, unsigned lane, const AsyncOp *engine, const AccessRecord &record,
                bool crossesProxy, bool overwrites) {
  View &view = ex.view(lane);
  if (!ex.grid.has(record.cluster) && view.seen.agent(gridOf(ex.grid, record).endAgent()))
    return Ordered::Yes; // the end of a grid makes all that it did visible
  if (record.flags & AccessRecord::Engine) {
    const AsyncOp &op = ex.grid.state->op(record.cluster, record.agent);
    if (engine && op.pipe && op.pipe == engine->pipe)
      return Ordered::Yes; // one engine, in order
    bool readsOnly = !record.isWrite();
    if (overwrites && knowsOver(view.seen, op, readsOnly))
      return Ordered::Yes;
    if (!knows(view.seen, op, readsOnly && !op.overByUse))
      return op.overByUse && knows(view.seen, op, readsOnly) ? Ordered::InFact : Ordered::No;
    if (crossesProxy && op.generic && record.isWrite() && !knows(view.fenced, op, readsOnly))
      return Ordered::NoFence;
    return Ordered::Yes;
  }
  Ordered result = Ordered::Yes;
  uint32_t lanes = record.lanes;
  bool sameWarp = record.agent == ex.warp.gid;
  // All lanes at once, if the entry of the warp says enough.
  uint32_t warpSeen = view.seen.warp(record.agent);
  forLanes(lanes, [&](unsigned other) {
    if (result == Ordered::No)
      return;
    bool self = sameWarp && other == lane;
    if (!self && warpSeen < record.count && view.seen.lane(record.agent, other) < record.count) {
      result = Ordered::No;
      return;
    }
    bool fence = record.isWrite() || ex.grid.options.fenceReads;
    if (crossesProxy && fence && view.fenced.lane(record.agent, other) < record.count)
      result = Ordered::NoFence;
  });
  if (result == Ordered::No && !record.isWrite() &&
      readBeforeCollective(ex, view.seen, record.agent, record.count))
    return Ordered::InFact;
  if (result == Ordered::No && record.flags & AccessRecord::WholeWarp && !sameWarp &&
      knowsALane(view.seen, record.agent, record.count))
    return Ordered::OneLane;
  return result;
}

/// Returns whether threads that knew an earlier access to be over had exited before a barrier that
/// ex's warp has waited for. It does not wait for them, so it only ends after their exit.
bool knownAtExit(const Exec &ex, const AccessRecord &record) {
  if (!ex.warp.afterExits)
    return false;
  const Clock &seen = ex.warp.afterExits->seen;
  if (record.flags & AccessRecord::Engine)
    return knows(seen, ex.grid.state->op(record.cluster, record.agent), !record.isWrite());
  bool all = true;
  forLanes(record.lanes,
           [&](unsigned lane) { all &= seen.lane(record.agent, lane) >= record.count; });
  return all;
}

MemoryPart partOf(const Grid &grid, const MemRef &ref, uint64_t offset) {
  return ref.space == ptx::Space::Shared ? sharedPart(grid, offset)
                                         : globalPart(*ref.allocation, offset);
}

/// A read of what nothing has written.
void reportUninitialized(Exec &ex, const AsyncOp *engine, MemoryPart memory) {
  Finding finding;
  finding.code = EmuUninitialized;
  finding.point = ex.point();
  finding.memory = std::move(memory);
  if (ex.grid.findings.count(finding))
    return;
  finding.message = engine ? std::string(engine->what) + " reads " : "read of ";
  finding.rest = ", which was never written";
  ex.grid.findings.add(std::move(finding));
}

/// Returns whether the bytes of \p mask, from \p at on, are the same in both.
bool storesSame(const uint8_t *a, const uint8_t *b, uint64_t at, unsigned mask) {
  for (; mask; mask &= mask - 1) {
    uint64_t byte = at + unsigned(__builtin_ctz(mask));
    if (a[byte] != b[byte])
      return false;
  }
  return true;
}

/// The records of an allocation, or null if there are none because it has only been read. An
/// access without all records asks for another run.
PagedShadow *trackedShadow(Exec &ex, Allocation &allocation, bool mayWrite) {
  GlobalUse *use = ex.grid.state->globals.find(&allocation);
  if (!use || !use->track(mayWrite))
    return nullptr;
  if (use->incomplete()) {
    ex.cluster.stopped = true;
    ex.grid.abort = true;
    ex.yield = true;
  }
  return &use->shadow();
}

/// Earlier accesses that were found to be ordered before the current one: tiles are written and
/// read by few operations, so most cells of a tile have the same records.
class KnownRecords {
public:
  bool has(const AccessRecord &record) const {
    return std::any_of(known.begin(), known.end(), [&](const AccessRecord &k) {
      return k.agent == record.agent && k.cluster == record.cluster && k.lanes == record.lanes &&
             k.count == record.count && k.flags == record.flags && k.scope == record.scope;
    });
  }
  void add(const AccessRecord &record) { known[next++ % known.size()] = record; }

private:
  std::array<AccessRecord, 4> known; ///< without lanes: none
  size_t next = 0;
};

/// Enters the accesses of a thread, or of \p engine, an operation that it issues.
class AccessEntry {
public:
  AccessEntry(Exec &ex, unsigned lane, const AsyncOp *engine, const AccessRecord &access,
              bool crossesProxy)
      : ex(ex), lane(lane), engine(engine), access(access), crossesProxy(crossesProxy) {}

  /// An access to shared or global memory. \p value: the bytes that a write stores, if they are
  /// known.
  void enter(const MemRef &ref, uint64_t size, const uint8_t *value);
  /// An access to whole cells of shared memory; false if it cannot go on.
  bool enter(Cta &cta, CellSet set);
  /// An access to tensor memory.
  void enter(TensorMemory &tensor, CellSet set);

private:
  /// Returns the order of an earlier access and this one.
  Ordered order(const AccessRecord &record) {
    uint8_t common = record.flags & access.flags;
    if (common & AccessRecord::Engine && record.agent == access.agent &&
        record.cluster == access.cluster)
      return Ordered::Yes; // one operation does not race with itself
    if (known.has(record))
      return Ordered::Yes;
    bool strong = common & AccessRecord::Strong;
    bool sameProxy = !((record.flags ^ access.flags) & AccessRecord::AsyncProxy);
    Scope needed =
        strong ? scopeBetween(positionOf(ex), positionOf(ex.grid, record)) : Scope::Block;
    bool narrow = record.scope < needed || access.scope < needed;
    // The ISA: two operations are morally strong only if they are performed via the same proxy
    // and the scope of each includes the other. They need no order.
    bool morallyStrong = strong && sameProxy && !narrow;
    if (morallyStrong && !access.isWrite())
      return Ordered::Atomic;
    Ordered how = ordered(ex, lane, engine, record, crossesProxy, access.isWrite());
    if (how == Ordered::Yes)
      known.add(record);
    if (how != Ordered::Yes && morallyStrong)
      return Ordered::Atomic;
    // Other lanes' accesses to global memory may be on their way.
    if (how == Ordered::OneLane && !inShared)
      how = Ordered::No;
    if (how != Ordered::No)
      return how;
    return knownAtExit(ex, record) ? Ordered::AfterExit
           : !strong               ? Ordered::No
           : !sameProxy            ? Ordered::OtherProxy
                                   : Ordered::NarrowScope;
  }
  /// Returns whether accesses that do not race with this one cannot race with \p record either. A
  /// later access may be atomic to a strong one, and be neither atomic to nor ordered after what
  /// comes before it.
  bool replaces(const AccessRecord &record, Ordered how) const {
    if (how == Ordered::Atomic)
      return false;
    if (how != Ordered::Yes || !(access.flags & AccessRecord::Strong))
      return true;
    return record.flags & AccessRecord::Strong && record.scope >= access.scope &&
           scopeBetween(positionOf(ex), positionOf(ex.grid, record)) == Scope::Block;
  }
  void report(const AccessRecord &record, Ordered how, MemoryPart part) {
    reportConflict(ex, lane, engine, record, access, how, std::move(part));
  }
  /// Returns what Shadow::access calls for cells of a set; \p partOf names the memory of a cell.
  template <class PartOf> auto conflictOfCells(const CellSet &set, PartOf partOf) {
    return [this, &set, partOf](const AccessRecord &record, uint64_t cells) {
      Ordered how = order(record);
      if (how != Ordered::Yes && how != Ordered::Atomic)
        for (; cells; cells &= cells - 1)
          report(record, how, partOf(cellOf(set, cells)));
      return replaces(record, how);
    };
  }
  static uint64_t cellOf(const CellSet &set, uint64_t cells) {
    return uint64_t(set.segment) * Shadow::segmentCells + unsigned(__builtin_ctzll(cells));
  }
  /// Bytes [\p at, \p stop) of one cell; false if it cannot go on.
  bool enterBytes(const MemRef &ref, PagedShadow *global, uint64_t at, uint64_t stop,
                  const uint8_t *value);
  /// Whole cells of memory.
  bool enterCells(const MemRef &ref, PagedShadow *global, CellSet set);
  /// False and a finding if words of 8 bytes hold a live mbarrier.
  bool avoidsMbarriers(const Cta &cta, uint64_t first, uint64_t last);

  Exec &ex;
  unsigned lane;
  const AsyncOp *engine;
  AccessRecord access;
  bool crossesProxy;
  bool inShared = false; ///< the memory that is accessed
  KnownRecords known;
};

bool AccessEntry::avoidsMbarriers(const Cta &cta, uint64_t first, uint64_t last) {
  const uint8_t *flags = cta.mbarrierAt.data();
  const void *found = memchr(flags + first, 1, std::min(last + 1, cta.mbarrierAt.size()) - first);
  if (!found)
    return true;
  std::string who = engine             ? std::string(engine->what) + " touches"
                    : access.isWrite() ? "a store to"
                                       : "a load from";
  uint64_t word = uint64_t(static_cast<const uint8_t *>(found) - flags);
  ex.report(EmuMbarrierMisuse, who + " the live mbarrier at " + sharedName(ex.grid, word * 8));
  return false;
}

bool AccessEntry::enter(Cta &cta, CellSet set) {
  inShared = true;
  constexpr uint64_t words = Shadow::cellBytes / 8, perSegment = words * Shadow::segmentCells;
  uint64_t first = set.segment * perSegment;
  if (memchr(cta.mbarrierAt.data() + first, 1, std::min(perSegment, cta.mbarrierAt.size() - first)))
    for (uint64_t rest = set.cells; rest; rest &= rest - 1) {
      uint64_t word = cellOf(set, rest) * words;
      if (!avoidsMbarriers(cta, word, word + words - 1))
        return false;
    }
  auto partOf = [this](uint64_t cell) { return sharedPart(ex.grid, cell * Shadow::cellBytes); };
  if (!access.isWrite())
    for (uint64_t rest = cta.shadow.unwritten(set); rest; rest &= rest - 1) {
      uint64_t cell = cellOf(set, rest);
      uint32_t missing = uint16_t(~cta.shadow.writtenBytes(cell));
      reportUninitialized(
          ex, engine,
          sharedPart(ex.grid, cell * Shadow::cellBytes + unsigned(__builtin_ctz(missing))));
    }
  ex.cluster.effort += cta.shadow.access(set, access, conflictOfCells(set, partOf));
  for (uint64_t rest = set.cells; rest; rest &= rest - 1)
    ex.cluster.traceShared(cta, cellOf(set, rest) * Shadow::cellBytes, access.pc, access.isWrite(),
                           engine != nullptr);
  return true;
}

void AccessEntry::enter(TensorMemory &tensor, CellSet set) {
  auto partOf = [this](uint64_t cell) {
    return tensorPart(ex.grid, unsigned(cell % tensorColumns));
  };
  if (!access.isWrite())
    for (uint64_t rest = tensor.shadow.unwritten(set); rest; rest &= rest - 1)
      reportUninitialized(ex, engine, partOf(cellOf(set, rest)));
  ex.cluster.effort += tensor.shadow.access(set, access, conflictOfCells(set, partOf));
}

void AccessEntry::enter(const MemRef &ref, uint64_t size, const uint8_t *value) {
  if (ref.space != ptx::Space::Shared && ref.space != ptx::Space::Global)
    return;
  inShared = ref.space == ptx::Space::Shared;
  uint64_t at = ref.offset, end = ref.offset + size;
  PagedShadow *global = nullptr;
  if (ref.space == ptx::Space::Global) {
    // Atomics read before they write.
    global = trackedShadow(ex, *ref.allocation,
                           access.flags & (AccessRecord::Write | AccessRecord::Strong));
    auto &written = ref.allocation->written;
    if (!written.empty()) {
      if (access.isWrite()) {
        memset(written.data() + at, 1, size);
      } else {
        for (uint64_t from = at; from < end;) { // the first of each cell
          const void *missing = memchr(written.data() + from, 0, end - from);
          if (!missing)
            break;
          uint64_t byte = uint64_t(static_cast<const uint8_t *>(missing) - written.data());
          reportUninitialized(ex, engine, globalPart(*ref.allocation, byte));
          from = (byte / Shadow::cellBytes + 1) * Shadow::cellBytes;
        }
      }
    }
    if (!global)
      return;
  }
  // Whole cells of an engine by segments, if there are enough of them.
  constexpr uint64_t several = 4 * Shadow::cellBytes;
  while (at < end) {
    bool whole = engine && at % Shadow::cellBytes == 0 && end - at >= several;
    uint64_t stop = std::min(end, (at / Shadow::cellBytes + 1) * Shadow::cellBytes);
    if (whole) {
      stop = std::min(end / Shadow::cellBytes * Shadow::cellBytes,
                      (at / Shadow::segmentBytes + 1) * Shadow::segmentBytes);
      if (!enterCells(ref, global, cellSet(at, stop)))
        return;
    } else if (!enterBytes(ref, global, at, stop, value)) {
      return;
    }
    at = stop;
  }
}

bool AccessEntry::enterCells(const MemRef &ref, PagedShadow *global, CellSet set) {
  if (!global)
    return enter(*ref.cta, set);
  auto partOf = [&](uint64_t cell) {
    return globalPart(*ref.allocation, cell * Shadow::cellBytes);
  };
  ex.cluster.effort += global->access(set, access, conflictOfCells(set, partOf));
  return true;
}

bool AccessEntry::enterBytes(const MemRef &ref, PagedShadow *global, uint64_t at, uint64_t stop,
                             const uint8_t *value) {
  uint64_t cell = at / Shadow::cellBytes;
  uint16_t bytes = uint16_t(((1u << (stop - at)) - 1) << (at % Shadow::cellBytes));
  auto conflict = [&](const AccessRecord &record, uint16_t common) {
    Ordered how = order(record);
    if (how == Ordered::Yes || how == Ordered::Atomic)
      return replaces(record, how);
    // Threads that compute the same element twice store it twice, by one instruction.
    if (value && record.isWrite() && record.pc == access.pc && ex.grid.has(record.cluster)) {
      const uint8_t *now = value - ref.offset, *before = ref.bytes - ref.offset;
      if (storesSame(now, before, cell * Shadow::cellBytes, common))
        how = Ordered::SameValue;
      else if (how == Ordered::No && positionOf(ex.grid, record).block == positionOf(ex).block &&
               differByRounding(now, before, cell * Shadow::cellBytes, common) &&
               storesArithmetic(*ex.grid.program, access.pc))
        how = Ordered::Rounded;
    }
    report(record, how, partOf(ex.grid, ref, at));
    return true;
  };
  if (global) {
    ex.cluster.effort += global->access(at, bytes, access, conflict);
    return true;
  }
  if (!avoidsMbarriers(*ref.cta, at / 8, (stop - 1) / 8))
    return false;
  Shadow &shadow = ref.cta->shadow;
  uint16_t missing = uint16_t(bytes & ~shadow.writtenBytes(cell));
  if (missing && !access.isWrite())
    reportUninitialized(
        ex, engine,
        sharedPart(ex.grid, cell * Shadow::cellBytes + unsigned(__builtin_ctz(missing))));
  ex.cluster.effort += shadow.access(cell, bytes, access, conflict);
  ex.cluster.traceShared(*ref.cta, at, access.pc, access.isWrite(), engine != nullptr);
  return true;
}

AccessRecord engineAccess(Exec &ex, uint32_t op, bool write) {
  AccessRecord access;
  access.agent = op;
  access.cluster = ex.cluster.number;
  access.lanes = 1;
  access.pc = ex.pc;
  access.flags = uint8_t((write ? AccessRecord::Write : 0) | AccessRecord::Engine |
                         (opAt(ex, op).generic ? 0 : AccessRecord::AsyncProxy));
  return access;
}

} // namespace

bool knows(const Clock &clock, const AsyncOp &op, bool readsOnly) {
  for (int i = 0; i < 2; ++i)
    if (op.agent[i] && clock.agent(op.agent[i]) >= op.count[i])
      return true;
  return readsOnly && op.readAgent && clock.agent(op.readAgent) >= op.readCount;
}

void checkAccess(Exec &ex, unsigned lane, const MemRef &ref, unsigned size, AccessKind kind,
                 const uint8_t *value, Scope scope) {
  AccessRecord access;
  access.agent = ex.warp.gid;
  access.cluster = ex.cluster.number;
  access.lanes = 1u << lane;
  access.count = ex.warp.count;
  access.pc = ex.pc;
  access.flags =
      uint8_t((kind & 1 ? AccessRecord::Write : 0) | (kind & 2 ? AccessRecord::Strong : 0) |
              (ex.mask == ex.warp.live ? AccessRecord::WholeWarp : 0));
  if (kind & 2)
    access.scope = scope;
  AccessEntry(ex, lane, nullptr, access, false).enter(ref, size, value);
}

uint32_t newOp(Exec &ex, unsigned lane, const char *what) {
  std::deque<AsyncOp> &ops = *ex.cluster.ops;
  AsyncOp op;
  op.what = what;
  op.pc = ex.pc;
  op.warp = ex.warp.gid;
  op.lane = uint8_t(lane);
  op.step = ex.cluster.timeline ? ex.cluster.timeline->last() : 0;
  ops.push_back(op);
  return uint32_t(ops.size() - 1);
}

AsyncOp &opAt(Exec &ex, uint32_t op) { return (*ex.cluster.ops)[op]; }

void checkEngine(Exec &ex, unsigned lane, uint32_t op, const MemRef &ref, uint64_t size,
                 bool write) {
  const AsyncOp &engine = opAt(ex, op);
  AccessEntry(ex, lane, &engine, engineAccess(ex, op, write), !engine.generic)
      .enter(ref, size, nullptr);
}

void checkEngine(Exec &ex, unsigned lane, uint32_t op, Cta &cta, const std::vector<CellSet> &parts,
                 bool write) {
  const AsyncOp &engine = opAt(ex, op);
  AccessEntry entry(ex, lane, &engine, engineAccess(ex, op, write), !engine.generic);
  for (CellSet part : parts)
    if (!entry.enter(cta, part))
      return;
}

void checkReduction(Exec &ex, unsigned lane, uint32_t op, const MemRef &ref, uint64_t size,
                    Scope scope) {
  const AsyncOp &engine = opAt(ex, op);
  // Its reading half counts for initialization only.
  for (bool write : {false, true}) {
    AccessRecord access = engineAccess(ex, op, write);
    access.flags |= AccessRecord::Strong;
    access.scope = scope;
    AccessEntry(ex, lane, &engine, access, !engine.generic).enter(ref, size, nullptr);
  }
}

bool checkMapRead(Exec &ex, unsigned lane, uint32_t op, uint64_t address) {
  MemRef map;
  if (!resolve(ex, lane, ptx::Space::Generic, address, tensorMapBytes, 64, map) ||
      map.space != ptx::Space::Global || map.allocation->constant)
    return false;
  // A proxy of its own, whose fences readTensorMap checks.
  AccessRecord access = engineAccess(ex, op, false);
  access.flags &= uint8_t(~AccessRecord::AsyncProxy);
  AccessEntry(ex, lane, &opAt(ex, op), access, false).enter(map, tensorMapBytes, nullptr);
  return true;
}

void checkTensor(Exec &ex, unsigned lane, uint32_t op, Cta &cta, uint32_t groups, unsigned column,
                 unsigned columns, bool write) {
  AccessRecord access = engineAccess(ex, op, write);
  access.flags &= uint8_t(~AccessRecord::AsyncProxy);
  AccessEntry entry(ex, lane, &opAt(ex, op), access, false);
  forTensorCells(groups, column, columns, [&](CellSet set) { entry.enter(*cta.tensor, set); });
}

} // namespace penstock::emu
