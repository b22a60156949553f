//===- HostLocks.cpp - Locks between processes of one host ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/HostLocks.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace penstock::cache;

namespace {

/// Descriptors of the locks that this process holds, plus one; 0 is a free slot.
std::array<std::atomic<int>, 256> heldLocks;

bool rememberLock(int fd) {
  for (std::atomic<int> &slot : heldLocks) {
    int expected = 0;
    if (slot.compare_exchange_strong(expected, fd + 1))
      return true;
  }
  return false;
}

/// False if a fork has closed it.
bool forgetLock(int fd) {
  for (std::atomic<int> &slot : heldLocks) {
    int expected = fd + 1;
    if (slot.compare_exchange_strong(expected, 0))
      return true;
  }
  return false;
}

/// Creates the folder, which only this user may write to.
bool usable(const std::string &path) {
  struct stat info;
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return false;
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 077) == 0;
}

/// Empty if there is none.
std::string lockFolder() {
  if (const char *runtime = std::getenv("XDG_RUNTIME_DIR"); runtime && runtime[0] == '/') {
    std::string path = std::string(runtime) + "/penstock";
    if (usable(path))
      return path;
  }
  const char *temporary = std::getenv("TMPDIR");
  std::string path = (temporary && temporary[0] == '/' ? temporary : "/tmp") +
                     std::string("/penstock-") + std::to_string(::geteuid());
  return usable(path) ? path : "";
}

} // namespace

HostLock::HostLock(const std::string &name, std::chrono::milliseconds longest) {
  std::string folder = lockFolder();
  if (folder.empty())
    return;
  std::string path = folder + "/" + name.substr(0, 2);
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return;
  auto end = std::chrono::steady_clock::now() + longest;
  auto pause = std::chrono::microseconds(200);
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    contended = true;
    if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() >= end) {
      ::close(file);
      return;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
  }
  fd = file;
  remembered = rememberLock(fd);
}

HostLock::~HostLock() {
  if (fd >= 0 && (!remembered || forgetLock(fd)))
    ::close(fd);
}

void penstock::cache::forgetHostLocks() {
  for (std::atomic<int> &slot : heldLocks)
    if (int stored = slot.exchange(0))
      ::close(stored - 1);
}
