//===- ForkSafe.h - One mutex that a fork leaves usable ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Servers fork after they have compiled. The child has none of the parent's other
// threads, so a mutex that one of them held would stay locked. All shared state of
// caches is therefore guarded by one mutex, which forks take first; it is held for short
// times only, never while compiling, reading or waiting.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_FORKSAFE_H
#define PENSTOCK_CACHE_FORKSAFE_H

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

namespace penstock::cache {

class Store;

struct SharedState {
  std::mutex mutex;
  std::condition_variable changed;
  /// Entries that threads of this process are making.
  std::set<std::pair<const Store *, std::string>> flights;
};

/// Never destroyed; a child has a new one.
SharedState &sharedState();

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_FORKSAFE_H
