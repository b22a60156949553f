//===- Shadow.h - The last accesses to all bytes ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last writers of all bytes of a memory and the readers since then, each with the lanes,
// count and program counter of the access. Memory is divided into cells of 16 bytes and segments
// of 64 cells. A thread's access is a record in the list of its cell, with a mask of bytes; an
// engine's access to whole cells is a record in the list of its segment, with a mask of cells, so
// that a tile costs as many records as it has kilobytes. Precise to the byte and to the lane.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_SHADOW_H
#define PENSTOCK_EMULATOR_RACES_SHADOW_H

#include "Emulator/Decode/Program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::emu {

struct AccessRecord {
  enum Flag : uint8_t {
    Write = 1,
    Strong = 2, ///< atomic, volatile, relaxed: see AccessRecord::scope
    Engine = 4, ///< agent is an asynchronous operation
    AsyncProxy = 8,
    WholeWarp = 16, ///< all lanes of the warp that live executed the instruction together
  };
  uint32_t agent = 0; ///< warp of the grid, or operation of `cluster`
  uint32_t cluster = 0;
  uint32_t lanes = 0;
  uint32_t count = 0; ///< the warp's count at the access
  uint32_t pc = 0;
  uint8_t flags = 0;
  Scope scope = Scope::Block; ///< of a strong access: the threads that it is atomic to

  bool isWrite() const { return flags & Write; }
  bool sameAgent(const AccessRecord &other) const {
    return agent == other.agent && cluster == other.cluster && flags == other.flags &&
           scope == other.scope;
  }
};

/// Lists of records about parts of something, a bit of \p Mask for each part: the bytes of a cell,
/// or the cells of a segment. A list is the index of its first record; 0: none.
template <class Mask> class AccessLists {
public:
  /// Records of a part that stay in the list after a later write.
  static constexpr unsigned maxOlder = 8;

  /// Calls \p conflict for each earlier record and its parts that overlap \p parts, if one of both
  /// is a write. A write replaces its parts if \p conflict returns true; otherwise later accesses
  /// may race with the record alone. A read replaces earlier reads of its lanes.
  /// \p merged: an earlier record has been extended and stands for this access, too. Returns the
  /// number of records.
  template <class Fn>
  unsigned pass(uint32_t &list, const AccessRecord &access, Mask parts, bool &merged,
                Fn &&conflict) {
    unsigned records = 0, older = 0;
    uint32_t *link = &list;
    while (*link) {
      Record &record = pool[*link];
      ++records;
      Mask common = record.parts & parts;
      bool stays = false;
      if (common && (record.isWrite() || access.isWrite()))
        stays = !conflict(record, common) && ++older <= maxOlder;
      bool same = record.sameAgent(access);
      if (same && record.count == access.count && record.pc == access.pc &&
          (record.lanes == access.lanes || (!access.isWrite() && record.parts == parts))) {
        record.parts |= parts;
        record.lanes |= access.lanes;
        merged = true;
      } else if (common && !stays &&
                 (access.isWrite() || (same && !(record.lanes & ~access.lanes)))) {
        record.parts &= Mask(~parts);
      }
      advance(link);
    }
    return records;
  }
  /// Calls \p fn for each record of \p part, which leaves these records if \p taken.
  template <class Fn> unsigned divide(uint32_t &list, Mask part, bool taken, Fn &&fn) {
    unsigned records = 0;
    uint32_t *link = &list;
    while (*link) {
      Record &record = pool[*link];
      ++records;
      if (record.parts & part) {
        fn(record);
        if (taken)
          record.parts &= Mask(~part);
      }
      advance(link);
    }
    return records;
  }
  void add(uint32_t &list, const AccessRecord &access, Mask parts) {
    uint32_t at = unused;
    if (at) {
      unused = pool[at].next;
    } else {
      at = uint32_t(pool.size());
      pool.emplace_back();
    }
    static_cast<AccessRecord &>(pool[at]) = access;
    pool[at].parts = parts;
    pool[at].next = list;
    list = at;
  }

private:
  struct Record : AccessRecord {
    Mask parts = 0;
    uint32_t next = 0;
  };
  /// To the next record, or past one without parts, which is removed.
  void advance(uint32_t *&link) {
    uint32_t at = *link;
    if (pool[at].parts) {
      link = &pool[at].next;
      return;
    }
    *link = pool[at].next;
    pool[at].next = unused;
    unused = at;
  }
  std::vector<Record> pool = std::vector<Record>(1); ///< the first is not used
  uint32_t unused = 0;                               ///< a list of those that are free
};

/// Whole cells of one segment.
struct CellSet {
  uint32_t segment = 0;
  uint64_t cells = 0;
};

/// A contiguous piece of memory.
class Shadow {
public:
  static constexpr unsigned cellBytes = 16, segmentCells = 64;
  static constexpr unsigned segmentBytes = cellBytes * segmentCells;
  static constexpr uint16_t wholeCell = 0xffff;
  /// Thousands of operations may read one tile: beyond these bounds further readers of a cell and
  /// of a segment are not remembered, so that lists stay short.
  static constexpr unsigned maxRecords = 256, maxSegmentRecords = 1024;

  Shadow() = default;
  explicit Shadow(size_t bytes) { resize(bytes); }
  void resize(size_t bytes) {
    cells.assign((bytes + cellBytes - 1) / cellBytes, {});
    segments.assign((bytes + segmentBytes - 1) / segmentBytes, {});
    byByte = {};
    byCell = {};
  }

  /// Calls \p conflict for every earlier record and the bytes of \p bytes that it overlaps, if one
  /// of both accesses is a write, then enters the access. \p conflict returns whether a write
  /// replaces the record. Returns how much work that was: the records that were looked at.
  template <class Fn>
  unsigned access(size_t index, uint16_t bytes, const AccessRecord &access, Fn &&conflict) {
    Cell &cell = cells[index];
    Segment &segment = segments[index / segmentCells];
    uint64_t bit = uint64_t(1) << index % segmentCells;
    unsigned records = 1;
    if (segment.list)
      records +=
          byCell.divide(segment.list, bit, access.isWrite(), [&](const AccessRecord &record) {
            if (record.isWrite() || access.isWrite())
              conflict(record, bytes);
            if (access.isWrite() && bytes != wholeCell)
              byByte.add(cell.list, record, uint16_t(~bytes));
          });
    bool merged = false;
    records += byByte.pass(cell.list, access, bytes, merged, conflict);
    if (access.isWrite()) {
      cell.written |= bytes;
      if (cell.written == wholeCell)
        segment.written |= bit;
    }
    if (!merged && (access.isWrite() || records <= maxRecords))
      byByte.add(cell.list, access, bytes);
    if (cell.list)
      segment.divided |= bit;
    return records;
  }

  /// The same for whole cells of a segment; \p conflict gets the cells.
  template <class Fn> unsigned access(CellSet set, const AccessRecord &access, Fn &&conflict) {
    Segment &segment = segments[set.segment];
    bool merged = false;
    unsigned records = 1 + byCell.pass(segment.list, access, set.cells, merged, conflict);
    for (uint64_t rest = segment.divided & set.cells; rest; rest &= rest - 1) {
      uint64_t bit = rest & -rest;
      uint32_t &list = cells[set.segment * segmentCells + unsigned(__builtin_ctzll(rest))].list;
      bool extended = false;
      records +=
          byByte.pass(list, access, wholeCell, extended,
                      [&](const AccessRecord &record, uint16_t) { return conflict(record, bit); });
      if (!list)
        segment.divided &= ~bit;
    }
    if (access.isWrite())
      segment.written |= set.cells;
    if (!merged && (access.isWrite() || records <= maxSegmentRecords))
      byCell.add(segment.list, access, set.cells);
    return records;
  }

  uint16_t writtenBytes(size_t index) const {
    return segments[index / segmentCells].written >> index % segmentCells & 1
               ? wholeCell
               : cells[index].written;
  }
  /// Returns the cells of a set that have bytes which were never written.
  uint64_t unwritten(CellSet set) const { return set.cells & ~segments[set.segment].written; }
  /// From now on \p set was never written, as when tensor memory is allocated anew.
  void forget(CellSet set) {
    segments[set.segment].written &= ~set.cells;
    for (uint64_t rest = set.cells; rest; rest &= rest - 1)
      cells[set.segment * segmentCells + unsigned(__builtin_ctzll(rest))].written = 0;
  }

private:
  struct Cell {
    uint32_t list = 0;
    uint16_t written = 0;
  };
  struct Segment {
    uint32_t list = 0;
    uint64_t divided = 0; ///< cells with lists of their own
    uint64_t written = 0; ///< cells of which all bytes were written
  };
  std::vector<Cell> cells;
  std::vector<Segment> segments;
  AccessLists<uint16_t> byByte;
  AccessLists<uint64_t> byCell;
};

/// The cells of bytes [from, to), which are whole cells of one segment.
inline CellSet cellSet(uint64_t from, uint64_t to) {
  uint64_t cells = ~uint64_t(0) >> (Shadow::segmentCells - (to - from) / Shadow::cellBytes);
  return {uint32_t(from / Shadow::segmentBytes),
          cells << from / Shadow::cellBytes % Shadow::segmentCells};
}

/// The shadow of one global allocation: pages made on demand, each with a lock,
/// because clusters run on several host threads.
class PagedShadow {
public:
  static constexpr uint64_t pageBytes = 4096;
  explicit PagedShadow(uint64_t bytes) : pages((bytes + pageBytes - 1) / pageBytes) {}

  /// An access to \p bytes of the cell at \p offset.
  template <class Fn>
  unsigned access(uint64_t offset, uint16_t bytes, const AccessRecord &access, Fn &&conflict) {
    return in(offset, [&](Shadow &shadow) {
      return shadow.access(offset % pageBytes / Shadow::cellBytes, bytes, access, conflict);
    });
  }
  template <class Fn> unsigned access(CellSet set, const AccessRecord &access, Fn &&conflict) {
    uint64_t offset = uint64_t(set.segment) * Shadow::segmentBytes;
    set.segment = uint32_t(offset % pageBytes / Shadow::segmentBytes);
    return in(offset, [&](Shadow &shadow) { return shadow.access(set, access, conflict); });
  }

private:
  struct Page {
    std::mutex mutex;
    std::unique_ptr<Shadow> shadow;
  };
  template <class Fn> unsigned in(uint64_t offset, Fn &&fn) {
    Page &page = pages[offset / pageBytes];
    std::lock_guard<std::mutex> lock(page.mutex);
    if (!page.shadow)
      page.shadow = std::make_unique<Shadow>(pageBytes);
    return fn(*page.shadow);
  }
  std::vector<Page> pages;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_SHADOW_H
