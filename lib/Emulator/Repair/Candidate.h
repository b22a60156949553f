//===- Candidate.h - One way to add synchronization -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_REPAIR_CANDIDATE_H
#define PENSTOCK_EMULATOR_REPAIR_CANDIDATE_H

#include "PTX/Module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::emu {

/// Strength of a candidate, the weakest first. Of several candidates that work, the first is
/// the patch.
enum class Strength : uint8_t {
  InitFence,        ///< fence.mbarrier_init
  NarrowProxyFence, ///< fence.proxy.async of one state space
  ProxyFence,       ///< fence.proxy.async
  TensorFence,      ///< tcgen05.fence
  WgmmaFence,       ///< wgmma.fence
  Commit,           ///< commit_group, tcgen05.commit
  GroupWait,        ///< wait_group of cp.async, bulk copies and wgmma
  TensorWait,       ///< tcgen05.wait
  WarpBarrier,      ///< bar.warp.sync
  Count,            ///< another arrival count, or another number of bytes
  Arrival,          ///< mbarrier.arrive
  BarrierWait,      ///< a wait for an mbarrier
  NamedBarrier,     ///< bar.sync of some warps
  BlockBarrier,     ///< bar.sync of the block
  ClusterBarrier,   ///< barrier.cluster
  MemoryOrder,      ///< .acquire or .release instead of .relaxed, or a wider scope
  FenceBlock,       ///< fence.acq_rel.cta
  FenceCluster,     ///< fence.acq_rel.cluster
  FenceDevice,      ///< fence.acq_rel.gpu
  FenceSystem       ///< fence.acq_rel.sys
};

/// "fence.proxy.async", "wait for an mbarrier": for lists of what was tried.
const char *nameOf(Strength strength);

/// Replaces bytes of a text. An insertion is a line of its own if nothing else precedes it.
struct Edit {
  size_t begin = 0, end = 0;
  std::string text;
};

std::string applyEdits(const std::string &text, std::vector<Edit> edits);

struct Candidate {
  Strength strength = Strength::InitFence;
  std::vector<Edit> edits;
  std::string what;                         ///< "`bar.sync 0;`"
  const ptx::Instruction *anchor = nullptr; ///< where it is inserted
  /// Order among candidates of one strength.
  int detail = 0;          ///< 0 is weakest, such as the most groups that stay in flight
  bool tooRare = false;    ///< executed less often than the accesses that it is to order
  uint64_t executions = 0; ///< by one warp
  unsigned distance = 0;   ///< from the accesses
};

/// Sorts by strength, then by what orders least and runs least often.
void sortCandidates(std::vector<Candidate> &candidates);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_REPAIR_CANDIDATE_H
