//===- ForkSafe.cpp - One mutex that a fork leaves usable -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/ForkSafe.h"
#include "Cache/HostLocks.h"

#include <atomic>
#include <pthread.h>

using namespace penstock::cache;

namespace {
std::atomic<SharedState *> current{nullptr};
} // namespace

SharedState &penstock::cache::sharedState() {
  static const bool once = [] {
    current = new SharedState;
    ::pthread_atfork([] { current.load()->mutex.lock(); }, [] { current.load()->mutex.unlock(); },
                     [] {
                       // The old one stays allocated: threads that do not exist in the child
                       // may be waiting in it.
                       current = new SharedState;
                       forgetHostLocks();
                     });
    return true;
  }();
  (void)once;
  return *current;
}
