//===- HostLocks.h - Locks between processes of one host --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They keep processes from compiling the same kernel at the same time, and nothing
// depends on them: a process that cannot get a lock compiles without it. They are files of a
// directory of this host, because locks over a network may hang.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CACHE_HOSTLOCKS_H
#define PENSTOCK_CACHE_HOSTLOCKS_H

#include <chrono>
#include <string>

namespace penstock::cache {

/// Held from construction to destruction, unless it could not be taken in time.
class HostLock {
public:
  /// \p name is that of an entry; names with the same two first digits share a lock.
  HostLock(const std::string &name, std::chrono::milliseconds longest);
  HostLock(const HostLock &) = delete;
  HostLock &operator=(const HostLock &) = delete;
  ~HostLock();

  bool held() const { return fd >= 0; }
  bool waited() const { return contended; }

private:
  int fd = -1;
  bool contended = false, remembered = false;
};

/// Called in the child after a fork: releases its copies of the parent's locks.
void forgetHostLocks();

} // namespace penstock::cache

#endif // PENSTOCK_CACHE_HOSTLOCKS_H
