//===- Directory.h - Entries as files ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//     DIR/v1/ab/<64 hex>           an entry whose name begins with ab
//     DIR/v1/tmp/<host>.<pid>.<n>  an entry that is being written
//     DIR/v1/pruned                empty; its time is that of the last pruning
//
// Readers take no locks: an entry appears by rename and is verified by its reader. A
// file is never changed after that.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_DIRECTORY_H
#define PENSTOCK_CACHE_DIRECTORY_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::cache {

class Directory {
public:
  explicit Directory(std::string path) : root(std::move(path)) {}

  /// Creates the directory and checks that only its owner and group can write to it. Returns
  /// the reason if it cannot be used.
  std::string prepare();
  /// The same checks for a directory that is only read, and may not exist.
  std::string checkSeed() const;

  const std::string &path() const { return root; }

  /// Bytes of an entry's file; no value if it does not exist or cannot be read.
  std::optional<std::string> read(const std::string &name) const;
  /// Returns 0, or the errno of the failure; then nothing is left behind.
  int write(const std::string &name, std::string_view bytes);
  void remove(const std::string &name);
  /// Marks an entry as used, at most once an hour.
  void touch(const std::string &name);

  struct File {
    std::string name;
    int64_t bytes = 0, seconds = 0; ///< size and time of last use
  };
  void forEach(const std::function<void(const File &)> &each) const;

  /// Removes the entries that were not used for the longest time, and temporary files
  /// older than an hour. Returns the number of removed entries.
  uint64_t prune(int64_t maxBytes);
  /// Returns whether nothing has pruned within the last hour.
  bool pruningIsDue() const;

  /// Path of an entry. Only names of 64 hexadecimal digits are entries.
  std::string pathOf(const std::string &name) const;
  static bool isName(std::string_view name);

private:
  std::string root;
};

/// Whole contents of a regular file; sets errno on failure.
std::optional<std::string> readRegularFile(const std::string &path);

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_DIRECTORY_H
