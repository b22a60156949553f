//===- Clock.h - Vector clocks over threads and engines ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one thread knows of all others. A warp has one counter; an entry says up
// to which count all lanes of a warp have been seen, and a few single lanes may
// have been seen further (one elected thread that arrives alone). Engines and
// barriers are agents of their own: the count of an mbarrier is its number of
// completed phases, the count of a bulk-group queue its number of completed
// groups. The warps of the own cluster sit in a dense array, all else in a
// sorted list, so that a clock stays small in grids of any size.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TIME_CLOCK_H
#define PENSTOCK_EMULATOR_TIME_CLOCK_H

#include <cstdint>
#include <utility>
#include <vector>

namespace penstock::emu {

class Clock {
public:
  Clock() = default;
  Clock(uint32_t firstWarp, uint32_t numWarps) : base(firstWarp), dense(numWarps) {}

  uint32_t lane(uint32_t warp, unsigned lane) const;
  uint32_t warp(uint32_t warp) const;
  uint32_t agent(uint64_t id) const { return find(agentTag | id); }
  /// Marks agents that count tcgen05 operations, for joinTensor.
  static constexpr uint64_t tensorAgent = uint64_t(1) << 61;
  /// Marks entries that only say that an agent's operations have completed.
  static constexpr uint64_t overAgent = uint64_t(1) << 60;

  void setLane(uint32_t warp, unsigned lane, uint32_t count);
  void setWarp(uint32_t warp, uint32_t count);
  void setAgent(uint64_t id, uint32_t count) { raise(agentTag | id, count); }
  /// Joins \p other: the least upper bound.
  void join(const Clock &other);
  /// Joins only what \p other knows of tcgen05 operations.
  void joinTensor(const Clock &other);
  /// Joins which asynchronous operations \p other knows to be complete, marked with overAgent.
  void joinOver(const Clock &other);
  void clear();
  bool empty() const { return dense.empty() && sparse.empty(); }

private:
  static constexpr uint64_t warpTag = uint64_t(1) << 62;
  static constexpr uint64_t agentTag = uint64_t(2) << 62;
  using Entry = std::pair<uint64_t, uint32_t>;

  uint32_t find(uint64_t key) const;
  void raise(uint64_t key, uint32_t count);
  bool covers(const Entry &entry) const;

  uint32_t base = 0;
  std::vector<uint32_t> dense;
  std::vector<Entry> sparse; ///< sorted by key
};

/// Which waits for mbarriers are over, by warps of one cluster. It is about the order of execution
/// and not about memory: relaxed synchronization passes it on, too.
class Observed {
public:
  Observed() = default;
  Observed(uint32_t firstWarp, uint32_t numWarps) : base(firstWarp), warps(numWarps) {}

  void set(uint32_t warp, uint32_t count);
  uint32_t of(uint32_t warp) const { return warp - base < counts.size() ? counts[warp - base] : 0; }
  void join(const Observed &other);

private:
  uint32_t base = 0, warps = 0;
  std::vector<uint32_t> counts; ///< made on demand
};

/// The clocks of one thread.
struct View {
  /// Everything that happened before.
  Clock seen;
  /// Of that, the accesses through the generic proxy that a proxy fence has
  /// made visible to the async proxy.
  Clock fenced;
  /// Of that, the mbarrier initializations published by
  /// fence.mbarrier_init.
  Clock inits;
  Observed observed;

  View() = default;
  View(uint32_t firstWarp, uint32_t numWarps)
      : seen(firstWarp, numWarps), fenced(firstWarp, numWarps), inits(firstWarp, numWarps),
        observed(firstWarp, numWarps) {}
  void join(const View &other) {
    observed.join(other.observed);
    seen.join(other.seen);
    fenced.join(other.fenced);
    inits.join(other.inits);
  }
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TIME_CLOCK_H
