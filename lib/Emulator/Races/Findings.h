//===- Findings.h - Collecting what a launch has to say ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Findings come from several host threads and the same error shows up for
// every thread, block and iteration. The collector puts together those of one
// code and one pair of source lines, whichever of them came first: a group says
// how often, which warps and what memory.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_FINDINGS_H
#define PENSTOCK_EMULATOR_RACES_FINDINGS_H

#include "Diagnostics/Diagnostic.h"
#include "Emulator/Decode/Names.h"
#include "Emulator/Races/Tier.h"
#include "Emulator/Races/UnusedReads.h"
#include "Emulator/Time/Timeline.h"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace penstock::emu {

struct FindingSite;
struct Program;

/// Instruction, block, warp and lane of an access.
struct ExecutionPoint {
  uint32_t pc = 0;
  uint32_t x = 0, y = 0, z = 0; ///< block
  uint32_t warp = 0, lane = 0;
};

/// One of two accesses that are in conflict.
struct ConflictSide {
  const char *engine = nullptr; ///< the operation; null: a thread
  bool write = false;
};

struct Finding {
  unsigned code = 0;
  /// If it is not that of its code.
  std::optional<Tier> tier;
  ExecutionPoint point;
  /// A second point of the same error.
  std::optional<ExecutionPoint> other;
  /// Of `other`, if it is in another kernel.
  const Program *otherProgram = nullptr;
  /// Description of the access at `point`, without threads and timing. The memory, if any, is
  /// printed between the two parts.
  std::string message, rest;
  std::optional<MemoryPart> memory;
  std::string otherText; ///< what happened at `other`
  /// Of conflicts: what happens at `point` and `other`, instead of texts.
  std::optional<std::array<ConflictSide, 2>> sides;
  /// Further points and what happened there.
  std::vector<std::pair<ExecutionPoint, std::string>> others;
  bool saysWho = false;
  std::string reason; ///< why the points are unordered, what to do
  /// A load that races, if its value may turn out to be unused.
  std::optional<uint32_t> unusedLoad;
  std::vector<TimelineStep> timeline;
  uint32_t firstWarp = 0; ///< of the cluster, for `timeline`
};

class Findings {
public:
  void add(Finding finding);
  /// Counts one more of a group that is known, or one too many; false if it is new
  /// and has to be added, with its texts.
  bool count(const Finding &finding);
  size_t size() const;
  bool full() const { return size() >= limit; }
  /// Decides at the end of a launch which loads were unused; none if it has not \p completed.
  void settle(bool completed);
  /// Everything found, as diagnostics with source and PTX lines, in the order of
  /// source lines.
  std::vector<Diagnostic> take(const std::string &timing);
  /// The same, instruction by instruction.
  std::vector<FindingSite> takeSites();

  size_t limit = 50;
  const Program *program = nullptr;
  uint64_t blocks = 1; ///< of the launch
  uint32_t warpsPerBlock = 1;
  UnusedReads unusedReads;

private:
  /// A line of a source file, or of the PTX where there is none.
  using Line = std::pair<uint32_t, uint32_t>;
  struct Key {
    unsigned code;
    Line first, second; ///< in order
    Tier tier;          ///< one of tier `undefined` must not stand for others of tier `wrong`
    bool maybeUnused = false;
    auto operator<=>(const Key &) const = default;
  };
  /// All that was done at one of the two lines.
  struct Side {
    std::set<uint32_t> warps;
    bool reads = false, writes = false;
  };
  struct Group {
    Finding finding; ///< the first
    uint64_t count = 0;
    std::array<Side, 2> sides; ///< of `point` and of `other`
    std::set<std::array<uint32_t, 3>> blocks;
    MemoryParts memory;
    bool withinWarps = true; ///< both accesses are by threads of one warp
    bool acrossBlocks = false;
    std::set<uint32_t> unusedLoads;
    uint64_t early = 0; ///< reads that came before anything was written
    /// Adds a group of the same lines. \p swapped: its points are in the other order.
    void absorb(const Group &other, bool swapped);
  };
  Line lineOf(uint32_t pc) const { return lineOf(*program, pc); }
  static Line lineOf(const Program &program, uint32_t pc);
  Key keyOf(const Finding &finding) const;
  const Program *otherOf(const Finding &finding) const;
  bool crowded(const Key &key) const;
  void merge(Group &group, const Finding &finding);
  void foldEarlyReads();
  Diagnostic describe(const Group &group, const std::string &timing) const;
  std::string sideText(const Group &group, size_t which) const;
  std::string timelineText(const Finding &finding) const;

  mutable std::mutex mutex;
  std::map<Key, Group> groups;
  /// Warps of both accesses by code and PTX lines.
  std::map<std::array<uint32_t, 3>, std::set<std::pair<uint32_t, uint32_t>>> sites;
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_FINDINGS_H
