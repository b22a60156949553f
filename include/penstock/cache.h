//===- cache.h - Compiled kernels that outlive the process ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header. `compile` looks kernels up in a cache: a directory of the user,
// read-only seed directories, and optionally a server. A cache never makes `compile`
// fail; its problems are diagnostics of the cache.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_H
#define PENSTOCK_CACHE_H

#include "penstock/diagnostics.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace penstock {

namespace cache {
class Store;
} // namespace cache

struct InspectOptions; // penstock/inspect.h

/// Empty strings and lists select the value of the environment variable.
struct CacheOptions {
  /// $PENSTOCK_CACHE_DIR, else $XDG_CACHE_HOME/penstock, else ~/.cache/penstock.
  std::string directory = {};
  /// Read-only directories, e.g. of a container image; $PENSTOCK_CACHE_SEEDS, separated
  /// by colons.
  std::vector<std::string> seeds = {};
  /// http://host/prefix or https:// (Bazel's layout), or s3://bucket/prefix;
  /// $PENSTOCK_CACHE_REMOTE.
  std::string remote = {};
  /// Uploads new entries; $PENSTOCK_CACHE_REMOTE_WRITES=1 enables this, too. Entries are
  /// executable code: only trusted machines should write.
  bool remote_writes = false;
  /// Size that pruning reduces the directory to.
  int64_t max_bytes = int64_t(2) << 30;
  /// Longest time that one lookup waits for the server.
  std::chrono::milliseconds remote_budget{1000};
};

/// Counts since the cache was opened.
struct CacheStatistics {
  uint64_t hits = 0;          ///< all hits, including seeds, server and memory
  uint64_t memory_hits = 0;   ///< kernels that this process has compiled or loaded before
  uint64_t seed_hits = 0;     ///< read from a seed
  uint64_t remote_hits = 0;   ///< read from the server
  uint64_t misses = 0;        ///< compiled
  uint64_t waits = 0;         ///< found after waiting for another thread or process
  uint64_t stored = 0;        ///< entries written to the directory
  uint64_t not_stored = 0;    ///< compiled kernels that cannot be entries
  uint64_t failed_writes = 0; ///< entries that could not be written
  uint64_t damaged = 0;       ///< corrupt entries
  uint64_t evicted = 0;       ///< entries that pruning removed
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t remote_failures = 0; ///< requests without a usable answer
  uint64_t uploads = 0;         ///< entries that the server accepted
  uint64_t dropped_uploads = 0; ///< entries that were not uploaded
};

/// Copies share the cache. All functions are thread-safe, and none throws.
class PENSTOCK_EXPORT KernelCache {
public:
  /// Opens a cache: a directory, seeds and servers.
  static KernelCache open(const CacheOptions &options = {});
  /// The cache that `compile` uses by default: open({}) at its first use.
  static KernelCache &process();
  /// Returns a cache without entries, which stores nothing.
  static KernelCache &none();

  /// The directory; empty if there is none.
  std::string directory() const;
  /// Problems so far, one of each kind.
  std::vector<Diagnostic> diagnostics() const;
  /// Returns the counters of this process.
  CacheStatistics statistics() const;
  /// Removes abandoned temporary files, and the least recently used entries until the directory
  /// has at most max_bytes.
  void prune();
  /// Waits until all uploads are done or have failed.
  void flush();

  /// Null in none().
  const std::shared_ptr<cache::Store> &store() const { return shared; }

private:
  std::shared_ptr<cache::Store> shared;
};

/// The key of a registered kernel: everything that its code depends on, one line each. Empty
/// on errors, and for kernels that are not cached.
PENSTOCK_EXPORT std::string cache_key_of_registered(const std::string &kernel,
                                                    const InspectOptions &options,
                                                    std::vector<Diagnostic> &diagnostics);

/// Statistics as Prometheus text.
PENSTOCK_EXPORT std::string to_prometheus(const CacheStatistics &statistics);

} // namespace penstock

#endif // PENSTOCK_CACHE_H
