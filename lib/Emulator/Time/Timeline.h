//===- Timeline.h - Events between two conflicting accesses -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster's log of accesses, synchronization and completions of asynchronous operations, in the
// order of this run. A finding quotes the part between its two accesses, so that a reader sees the
// synchronization that was there and did not order them.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TIME_TIMELINE_H
#define PENSTOCK_EMULATOR_TIME_TIMELINE_H

#include "PTX/Module.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace penstock::emu {

struct Program;

/// A step of the log.
struct TimelineStep {
  enum Kind : uint8_t {
    Executed,  ///< an instruction of a warp
    Completed, ///< an asynchronous operation, which `pc` has issued
    Left       ///< `times` steps are left out
  };
  Kind kind = Executed;
  bool access = false; ///< one of the two that are in conflict
  uint32_t warp = 0;   ///< among all of the launch
  uint32_t pc = 0;
  uint32_t count = 0; ///< the warp's clock
  uint32_t times = 1; ///< in a row
};

class Timeline {
public:
  explicit Timeline(const Program &program);

  /// Before an instruction runs. Afterwards, blocked() takes it back if it has to run again.
  void executes(uint32_t warp, uint32_t pc, uint32_t count);
  void blocked(uint32_t pc);
  void completed(uint32_t pc);
  /// The number of the last step.
  uint64_t last() const { return dropped + steps.size() - 1; }
  /// The last access of a thread that the checker knows by these numbers.
  std::optional<uint64_t> find(uint32_t warp, uint32_t pc, uint32_t count) const;
  /// Steps of two warps from \p first on: accesses, synchronization, and operations.
  std::vector<TimelineStep> between(uint64_t first, uint32_t firstWarp,
                                    const TimelineStep &last) const;

private:
  void add(const TimelineStep &step);

  /// By pc: not logged, logged to find accesses, or shown as well.
  enum class Use : uint8_t { None, Access, Shown };
  std::vector<Use> uses;
  std::deque<TimelineStep> steps;
  uint64_t dropped = 0;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TIME_TIMELINE_H
