//===- Releases.h - Published state of releases, by scope -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_RACES_RELEASES_H
#define PENSTOCK_EMULATOR_RACES_RELEASES_H

#include "Emulator/Decode/Program.h"
#include "Emulator/Time/Clock.h"

#include <array>
#include <map>
#include <memory>

namespace penstock::emu {

/// A release, for messages about scopes.
struct ReleasePoint {
  uint32_t warp = 0;
  unsigned lane = 0;
  uint32_t count = 0; ///< of its warp; 0: none
  uint32_t pc = 0;
  Scope scope = Scope::Device;
};

/// A release that a thread has observed without synchronizing with it, because a scope is too
/// narrow.
struct MissedRelease {
  ReleasePoint release;
  uint32_t pc = 0;             ///< the operation with the scope
  Scope scope = Scope::Block;  ///< that is too narrow
  Scope needed = Scope::Block; ///< that includes both threads
  bool byAcquire = false;      ///< the scope is that of the acquire
};

/// A strong write of global memory that releases nothing, and the view that a release would
/// publish.
struct UnreleasedWrite {
  ReleasePoint point; ///< without a scope
  std::shared_ptr<const View> view;
};

/// A read that has observed such a write, for messages.
struct UnreleasedRead {
  UnreleasedWrite write;
  uint32_t warp = 0;
  unsigned lane = 0;
  uint32_t count = 0; ///< of its warp
};

/// Views by scope; null: empty.
using ScopedViews = std::array<std::unique_ptr<View>, numScopes>;

/// A synchronizing variable. Its value carries the releases of the write that stored it and, if
/// that is an atomic, the releases that the atomic observed.
struct SyncVariable {
  /// Releases and acquires whose scope includes all threads.
  View device;
  /// Releases of a cluster that include it, for acquires of that cluster; the same for blocks.
  std::map<uint32_t, View> clusters, blocks;
  /// The last write.
  uint32_t warp = 0, block = 0, cluster = 0;
  unsigned lane = 0;
  Scope scope = Scope::Device;
  bool written = false;
  ReleasePoint release; ///< the last one
  /// The view that the last releasing write published, for later relaxed writes of its thread.
  std::unique_ptr<View> released;
  ReleasePoint releasedBy;
  /// The last few writes that released nothing: the last write and, if it is an atomic, the writes
  /// that it follows.
  std::vector<UnreleasedWrite> unreleased;

  void forgetReleases() {
    device = View();
    clusters.clear();
    blocks.clear();
    release = ReleasePoint();
    unreleased.clear();
  }
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_RACES_RELEASES_H
