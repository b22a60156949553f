//===- OlderSystems.cpp - Functions that older systems lack ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's archives are built on Debian 12 and use two functions that glibc 2.34 and the
// libstdc++ of GCC 11 do not have in that version. Packages define them here, hidden, so that
// libpenstock.so also loads on Ubuntu 22.04 and RHEL 9.
//
//===----------------------------------------------------------------------===//
#include <condition_variable>
#include <cstdint>
#include <pthread.h>
#include <random>
#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getentropy(&value, sizeof value) != 0)
    value = std::random_device()();
  return value;
}

// The version of GCC 12 differs only in its exception specification.
__attribute__((visibility("hidden"))) void
std::condition_variable::wait(std::unique_lock<std::mutex> &lock) {
  pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}
