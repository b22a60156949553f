//===- HostileFileSystem.cpp - Failures as of a network file system -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To be preloaded. Locks are granted to everybody, one rename of five fails with EBUSY or
// ESTALE, and one of five entries that exist cannot be opened: files of other machines
// appear late.
//
//===----------------------------------------------------------------------===//
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

static uint32_t next() {
  static std::atomic<uint32_t> calls{0};
  uint32_t x = uint32_t(getpid()) * 2654435761u + ++calls * 40503u;
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ x >> 13;
}

template <class F> static F *original(F *, const char *name) {
  void *symbol = dlsym(RTLD_NEXT, name);
  F *function = nullptr;
  std::memcpy(&function, &symbol, sizeof symbol);
  return function;
}

extern "C" int flock(int, int) { return 0; }

extern "C" int rename(const char *from, const char *to) noexcept {
  static auto *real = original(&rename, "rename");
  if (uint32_t x = next(); x % 5 == 0) {
    errno = x / 5 % 2 ? EBUSY : ESTALE;
    return -1;
  }
  return real(from, to);
}

extern "C" int open(const char *path, int flags, ...) {
  static auto *real = original(&open, "open");
  if (!(flags & (O_WRONLY | O_RDWR)) && std::strstr(path, "/v1/"))
    if (uint32_t x = next(); x % 5 == 0) {
      errno = x / 5 % 2 ? ESTALE : ENOENT;
      return -1;
    }
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return real(path, flags, mode);
}
