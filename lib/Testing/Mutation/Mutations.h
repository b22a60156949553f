//===- Mutations.h - Kernels with broken synchronization --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the synchronizing instructions of a kernel's PTX and says how each can be
// removed or altered. A mutation is a small change of the text, so that a mutant
// is read and run like any other kernel.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_MUTATION_MUTATIONS_H
#define PENSTOCK_TESTING_MUTATION_MUTATIONS_H

#include "PTX/Module.h"

#include <optional>
#include <span>

namespace penstock {

/// Kind of synchronization of an instruction.
enum class SyncKind : uint8_t {
  BarrierInit,    ///< mbarrier.init
  InitFence,      ///< fence.mbarrier_init
  BarrierWait,    ///< mbarrier.try_wait, test_wait
  BarrierArrive,  ///< mbarrier.arrive, with or without bytes, and expect_tx
  TensorCommit,   ///< tcgen05.commit
  TensorWait,     ///< tcgen05.wait
  TensorFence,    ///< tcgen05.fence
  ProxyFence,     ///< fence.proxy
  MemoryFence,    ///< fence, membar
  NamedBarrier,   ///< bar, barrier
  WarpBarrier,    ///< bar.warp.sync
  ClusterBarrier, ///< barrier.cluster
  WgmmaFence,     ///< wgmma.fence
  GroupCommit,    ///< commit_group of cp.async, bulk copies and wgmma
  GroupWait       ///< wait_group and wait_all of the same
};

enum class Change : uint8_t {
  Removed,
  OtherPhase,    ///< waits for the phase before or behind
  NotAcquired,   ///< a relaxed wait
  NotReleased,   ///< a relaxed arrival
  Doubled,       ///< arrives twice
  MoreBytes,     ///< announces 16 bytes more than come
  FewerBytes,    ///< announces 16 bytes fewer
  OneMore,       ///< waits for one arrival more
  MoreThreads,   ///< a barrier of 32 threads more
  OnePendingMore ///< lets one group more be under way
};

/// Returns whether an opcode has a modifier.
inline bool contains(std::string_view opcode, std::string_view modifier) {
  return opcode.find(modifier) != std::string_view::npos;
}

struct Mutation {
  SyncKind kind;
  Change change;
  std::string instruction; ///< as it stands in the text
  uint32_t line = 0, column = 0;
  ptx::SourceLoc loc;
  /// The change: `length` bytes from `begin` on are replaced.
  size_t begin = 0, length = 0;
  std::string replacement;
  std::string equivalent;  ///< why it can do no harm in any run; empty if it can
  std::string ifUnnoticed; ///< why it is equivalent if no run notices it; empty: unknown
};

/// Returns the kind of synchronization of an instruction, if it is one of the above.
std::optional<SyncKind> syncKindOf(std::string_view opcode);

/// All mutations of the kernel \p name, in the order of its text.
std::vector<Mutation> mutationsOf(const ptx::Module &module, const std::string &name);

/// The text with these changes, of which no two touch the same instruction.
std::string applied(const std::string &text, std::span<const Mutation *const> mutations);

/// The text with a trap in place of the instruction, to see who gets there.
std::string trapped(const std::string &text, const Mutation &mutation);

/// "removed", "waits for the other phase".
const char *describe(Change change);

} // namespace penstock

#endif // PENSTOCK_TESTING_MUTATION_MUTATIONS_H
