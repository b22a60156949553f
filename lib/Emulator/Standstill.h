//===- Standstill.h - Threads that wait for a write in vain -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that poll memory always run, so a deadlock among them is decided by writes, not by
// time. Each warp is watched while it runs alone. If the registers that determine its branches
// and addresses come back to a former state, and memory has not changed in between, the warp
// repeats this loop until another thread changes memory. If all warps repeat or are blocked and
// nothing is in flight, no thread does.
//
// Warps that synchronize with each other in every iteration are watched together, with shared
// memory and barriers as a part of their state. A loop that reads a clock may end later: clocks
// are advanced by growing steps, and all warps are watched again after each step.
// The time of the look only decides how soon a deadlock is found, not what is one.
//
// The rule takes a list of clusters, of any number of grids and devices that share memory.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_STANDSTILL_H
#define PENSTOCK_EMULATOR_STANDSTILL_H

#include "Emulator/Decode/Program.h"

#include <string>
#include <vector>

namespace penstock::emu {

struct Cluster;
struct Exec;
struct MemRef;
struct Warp;

/// Effects of the watched warps of a cluster.
struct Watch {
  explicit Watch(const Program &program, uint64_t clock)
      : program(program), clock(clock), executed(program.code.size()) {}

  /// An instruction has been executed. \p before: where the split was.
  void note(Exec &ex, const DInst &inst, uint32_t before);
  /// A thread reads memory.
  void noteRead(Exec &ex, const MemRef &ref);
  /// A thread has changed memory.
  void noteChange(const MemRef &ref);

  const Program &program;
  uint64_t clock; ///< that threads read: it stands still
  std::vector<bool> executed;
  bool newCode = false;      ///< an instruction was executed for the first time
  bool readsClock = false;   ///< a thread has read a clock
  bool readsMemory = false;  ///< or memory, or waits
  bool changesBlock = false; ///< shared memory or a barrier has changed
  bool changesOthers = false;

private:
  std::string read; ///< what the current instruction reads
};

/// Why a standstill is a deadlock, for its report.
inline constexpr const char *noMoreWrites =
    "every thread that still runs repeats a loop that changes no memory, and nothing is in flight";

/// Looks for a standstill from time to time, less often each time it finds none.
class Standstill {
public:
  /// Returns whether it is time to look. \p instructions, \p progress: of all clusters.
  bool due(uint64_t instructions, uint64_t progress);
  /// Returns whether no thread of \p clusters will ever change memory, if no others do. Runs
  /// their threads for a while.
  bool reached(const std::vector<Cluster *> &clusters);
  /// Others have started that may change memory.
  void lookAgain() { interval = 0; }

private:
  enum class Outcome { Repeats, ChangesBlock, Changes };
  bool isQuiet(Cluster &cluster, bool starved);
  Outcome repeat(Cluster &cluster, const std::vector<Warp *> &warps, bool wholeCluster);
  bool runRound(Cluster &cluster, const std::vector<Warp *> &warps);

  uint64_t since = 0, lastProgress = 0, interval = 0;
  uint64_t always = uint64_t(1) << 14; ///< look then even if there is progress
  bool readsClock = false, readsMemory = false;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_STANDSTILL_H
