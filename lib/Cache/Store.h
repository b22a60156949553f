//===- Store.h - Bytes by key, shared between processes ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A key is a text whose first line names the kind of the entry, e.g. "penstock-key 1".
// It has everything that the bytes depend on, so an entry is never outdated. What a
// lookup returns has been verified: the checksum, and that the key stored in the entry is
// the one that was asked for.
//
// Nothing here throws, and no failure of a disk or server reaches the caller as more
// than a miss. Failures are counted, and reported once as diagnostics.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_STORE_H
#define PENSTOCK_CACHE_STORE_H

#include "Cache/Directory.h"
#include "penstock/cache.h"

#include <atomic>
#include <functional>
#include <list>

namespace penstock::cache {

/// CacheStatistics that threads count in.
struct Counters {
  std::atomic<uint64_t> hits, memoryHits, seedHits, remoteHits, misses, waits, stored, notStored,
      failedWrites, damaged, evicted, bytesRead, bytesWritten, remoteFailures, uploads,
      droppedUploads;
};

class Remote;

class Store {
public:
  /// Never null. Without a usable directory, seed or server nothing is found.
  static std::shared_ptr<Store> open(const CacheOptions &options);
  ~Store();
  Store(const Store &) = delete;
  Store &operator=(const Store &) = delete;

  /// Bytes that were published under this key: in the directory, a seed or the server.
  std::optional<std::string> lookup(std::string_view keyText);

  /// Writes an entry to the directory, and queues it for the server if writes are allowed.
  /// Returns whether the directory has it now.
  bool publish(std::string_view keyText, std::string_view bytes);

  /// Looks a key up, and calls \p make for it if there is no entry: once among the threads
  /// of this process and, where locks work, among the processes of this host. What it
  /// returns is published; nothing is published for no value.
  struct Made {
    std::optional<std::string> bytes;
    bool found = false; ///< \p make was not called
  };
  Made lookupOrMake(std::string_view keyText,
                    const std::function<std::optional<std::string>()> &make);

  /// Entry that exists, whether or not it is the one of \p keyText, for tools.
  Directory *directory() { return local ? &*local : nullptr; }

  /// Takes a whole entry (Entry.h) of any key, e.g. from another cache. Returns false if it
  /// is damaged or cannot be written.
  bool import(std::string_view entry);
  /// Uploads a whole entry now. Returns the reason if that fails.
  std::string push(std::string_view entry);

  /// Objects that were made from entries of this store, in memory: the 64 used last. A hit is
  /// counted.
  std::shared_ptr<const void> recall(std::string_view keyText);
  void remember(std::string_view keyText, std::shared_ptr<const void> object);

  std::vector<Diagnostic> diagnostics() const;
  CacheStatistics statistics() const;
  Counters &counters() { return counts; }

  void prune();
  void flush();
  /// Ends uploads, after the budget for the server at the latest.
  void stop();

  /// Reports a problem, unless one of the same code was reported before.
  void warn(unsigned code, std::string message, std::string help);

private:
  Store() = default;
  void openDirectory(const CacheOptions &options);
  void openSeeds(const CacheOptions &options);
  void openRemote(const CacheOptions &options);
  std::optional<std::string> find(std::string_view keyText, const std::string &name);
  std::optional<std::string> findLocally(std::string_view keyText, const std::string &name);
  std::optional<std::string> findInSeeds(std::string_view keyText, const std::string &name);
  std::optional<std::string> findRemotely(std::string_view keyText, const std::string &name);
  bool write(const std::string &name, std::string_view entry);

  std::optional<Directory> local;
  std::vector<Directory> seeds;
  std::unique_ptr<Remote> remote;
  int64_t maxBytes = 0;
  mutable Counters counts = {};
  std::vector<Diagnostic> problems;
  std::list<std::pair<std::string, std::shared_ptr<const void>>> remembered;
};

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_STORE_H
