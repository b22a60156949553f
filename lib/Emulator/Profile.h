//===- Profile.h - Who executes what, and the values of it ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A profile of a launch: which warps execute an instruction, and which values its destination
// takes. Repairs insert synchronization where the right threads execute it, and find the registers
// that hold the address or the parity of an mbarrier.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_PROFILE_H
#define PENSTOCK_EMULATOR_PROFILE_H

#include "PTX/Module.h"

#include <map>
#include <set>
#include <unordered_map>

namespace penstock::emu {

struct Cluster;
struct DInst;
struct Exec;

struct ExecutionProfile {
  /// Values of one destination that are kept.
  static constexpr size_t maxValues = 64;

  struct Executions {
    std::map<uint32_t, uint64_t> warps; ///< executions, by warp of the cluster
    bool wholeWarps = true;             ///< always by all live lanes, guards aside
    bool oneLane = true;                ///< never by more than one lane of a warp
    std::set<uint64_t> values;          ///< of an integer destination
    bool manyValues = false;            ///< more than maxValues
    unsigned mostLanes = 0;             ///< predicates: for how many lanes of a warp it holds
    std::set<uint32_t> trueWarps;       ///< predicates: of the block, where it holds

    uint64_t count() const;
  };

  /// An mbarrier when the threads of the kernel were stuck.
  struct Barrier {
    uint32_t block = 0;  ///< of the cluster
    uint64_t offset = 0; ///< in its shared memory
    uint32_t expected = 0;
    int64_t pending = 0, bytes = 0;
  };

  /// The split reaches an instruction, whatever its guard says.
  void reach(const Exec &ex, const DInst &inst, uint32_t lanes);
  /// An instruction has been executed.
  void note(const Exec &ex, const DInst &inst);
  /// No thread can go on.
  void noteStuck(const Cluster &cluster);

  const Executions *find(const ptx::Instruction &inst) const {
    auto found = instructions.find(&inst);
    return found == instructions.end() ? nullptr : &found->second;
  }

  std::unordered_map<const ptx::Instruction *, Executions> instructions;
  std::set<uint64_t> barriers;                    ///< offsets that mbarrier.init was given
  std::vector<Barrier> stuck;                     ///< all mbarriers that live then
  std::set<uint64_t> awaited;                     ///< offsets of those that threads wait for
  std::set<const ptx::Instruction *> waitsInVain; ///< instructions that threads are stuck at
  uint32_t warpsPerBlock = 1;
  bool complete = false; ///< set by the owner: a profiled run came to its end
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_PROFILE_H
