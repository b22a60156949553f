//===- Shadow.h - Who touched which bytes last ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every 16 bytes of memory a short list of records: the last writers of its
// bytes and the readers since then, each with the lanes, bytes, count and
// program counter of the access. Precise to the byte and to the lane, and cheap
// for tiles, because an engine's access to a whole cell is one record.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_SHADOW_H
#define PENSTOCK_EMULATOR_SHADOW_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::emu {

struct AccessRecord {
  enum Flag : uint8_t {
    Write = 1,
    Strong = 2, ///< atomic, volatile, relaxed: no race with its like
    Engine = 4, ///< agent is an asynchronous operation
    AsyncProxy = 8,
  };
  uint32_t next = 0;
  uint32_t agent = 0; ///< warp of the grid, or operation of `cluster`
  uint32_t cluster = 0;
  uint32_t lanes = 0;
  uint32_t count = 0; ///< the warp's count at the access
  uint32_t pc = 0;
  uint16_t bytes = 0; ///< mask inside of the cell
  uint8_t flags = 0;

  bool isWrite() const { return flags & Write; }
};

/// Cells of a contiguous piece of memory. Index 0 of the pool means "none".
class Shadow {
public:
  static constexpr unsigned maxRecords = 256;
  Shadow() = default;
  explicit Shadow(size_t bytes) { resize(bytes); }
  void resize(size_t bytes) {
    heads.assign((bytes + 15) / 16, 0);
    written.assign((bytes + 15) / 16, 0);
    pool.assign(1, AccessRecord{});
    freeList = 0;
  }
  size_t cells() const { return heads.size(); }

  /// Calls \p conflict for every earlier record that overlaps \p access and
  /// of which one is a write, then enters the access. A write replaces what it
  /// covers. Returns how much work that was: the records that were looked at.
  template <class Fn> unsigned access(size_t cell, const AccessRecord &access, Fn &&conflict) {
    uint32_t *link = &heads[cell];
    bool merged = false;
    unsigned records = 1;
    while (uint32_t at = *link) {
      AccessRecord &record = pool[at];
      ++records;
      if (record.bytes & access.bytes) {
        if (record.isWrite() || access.isWrite())
          conflict(record);
        // A later write takes over; a later read by the same agent too.
        if (access.isWrite()) {
          record.bytes &= uint16_t(~access.bytes);
          if (!record.bytes && !record.next && link == &heads[cell]) {
            // The only one: the new record takes its room.
            record = access;
            record.next = 0;
            written[cell] |= access.bytes;
            return records;
          }
          if (!record.bytes) {
            *link = record.next;
            record.next = freeList;
            freeList = at;
            continue;
          }
        } else if (!access.isWrite() && !record.isWrite() && record.agent == access.agent &&
                   record.cluster == access.cluster && record.flags == access.flags) {
          if (record.bytes == access.bytes && record.count == access.count &&
              record.pc == access.pc) {
            record.lanes |= access.lanes;
            merged = true;
          } else if ((record.lanes & ~access.lanes) == 0) {
            record.bytes &= uint16_t(~access.bytes);
            if (!record.bytes) {
              *link = record.next;
              record.next = freeList;
              freeList = at;
              continue;
            }
          }
        }
      }
      link = &record.next;
    }
    if (access.isWrite())
      written[cell] |= access.bytes;
    // Thousands of operations may read one tile: beyond a bound further readers
    // are not remembered, so that the list stays short.
    if (merged || (!access.isWrite() && records > maxRecords))
      return records;
    uint32_t at = freeList;
    if (at) {
      freeList = pool[at].next;
    } else {
      at = uint32_t(pool.size());
      pool.emplace_back();
    }
    pool[at] = access;
    pool[at].next = heads[cell];
    heads[cell] = at;
    return records;
  }
  uint16_t writtenBytes(size_t cell) const { return written[cell]; }
  void markWritten(size_t cell, uint16_t bytes) { written[cell] |= bytes; }
  /// Forgets all about a cell, as when tensor memory is allocated anew.
  void forget(size_t cell) { written[cell] = 0; }

private:
  std::vector<uint32_t> heads;
  std::vector<uint16_t> written;
  std::vector<AccessRecord> pool;
  uint32_t freeList = 0;
};

/// The shadow of one global allocation: pages made on demand, each with a lock,
/// because clusters run on several host threads.
class PagedShadow {
public:
  static constexpr uint64_t pageBytes = 4096;
  explicit PagedShadow(uint64_t bytes) : pages((bytes + pageBytes - 1) / pageBytes) {}

  template <class Fn> unsigned access(uint64_t offset, const AccessRecord &access, Fn &&conflict) {
    Page &page = pages[offset / pageBytes];
    std::lock_guard<std::mutex> lock(page.mutex);
    if (!page.shadow)
      page.shadow = std::make_unique<Shadow>(pageBytes);
    return page.shadow->access(offset % pageBytes / 16, access, conflict);
  }

private:
  struct Page {
    std::mutex mutex;
    std::unique_ptr<Shadow> shadow;
  };
  std::vector<Page> pages;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_SHADOW_H
