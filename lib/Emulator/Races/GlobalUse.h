//===- GlobalUse.h - Tracked global memory of a launch ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads of memory that a launch never writes cannot race, and most memory is of that kind. So
// accesses to an allocation are recorded from its first write on. If it has been read before that,
// the records of these reads are missing: the launch is run once more on the memory as it was, and
// records all accesses to this allocation.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_GLOBALUSE_H
#define PENSTOCK_EMULATOR_RACES_GLOBALUSE_H

#include "Emulator/Memory.h"
#include "Emulator/Races/Shadow.h"

#include <atomic>
#include <set>
#include <unordered_map>

namespace penstock::emu {

class GlobalUse {
public:
  explicit GlobalUse(Allocation &allocation) : allocation(allocation), records(allocation.size) {}

  /// Notes an access; true if it is to be recorded. \p mayWrite: it changes memory.
  bool track(bool mayWrite) {
    uint8_t now = state.load(std::memory_order_acquire);
    if (now == Tracked)
      return true;
    if (mayWrite) {
      startTracking();
      return true;
    }
    if (now == Untouched &&
        !state.compare_exchange_strong(now, ReadOnly, std::memory_order_acq_rel))
      return now == Tracked;
    return false;
  }
  /// Saves the memory as it is now and records accesses from here on.
  void startTracking();
  /// Returns whether some reads were not recorded.
  bool incomplete() const { return missedReads; }
  /// Undoes all writes.
  void restore();

  PagedShadow &shadow() { return records; }

private:
  enum State : uint8_t { Untouched, ReadOnly, Tracked };
  Allocation &allocation;
  std::atomic<uint8_t> state{Untouched};
  std::atomic<bool> missedReads{false};
  std::mutex mutex;
  PagedShadow records; ///< made before host threads run: it has locks, but nothing publishes it
  std::vector<uint8_t> bytes, written; ///< before the first write
};

/// All allocations of a device, for one run of a launch.
class GlobalUses {
public:
  void add(Allocation &allocation, bool tracked);
  GlobalUse *find(const Allocation *allocation) {
    auto found = uses.find(allocation);
    return found == uses.end() ? nullptr : found->second.get();
  }
  /// Allocations of which reads are missing.
  std::set<const Allocation *> incomplete() const;
  void restore();

private:
  std::unordered_map<const Allocation *, std::unique_ptr<GlobalUse>> uses;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_GLOBALUSE_H
