//===- explicit-barrier-count.cpp - A barrier without arrivals ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Count {
  void operator()(Block &b) const {
    b.threads(128);
    auto [bar] = b.mbarrier.alloc<1>({0});
    b.mbarrier.arrive(bar);
  }
};
} // namespace

WRONG_PROGRAM { compile(Count{}, Target::sm_100a()); }

// EXPECT: explicit-barrier-count.cpp:13: error PS1605: a barrier that waits for 0 arrivals
// EXPECT:    13 |     auto [bar] = b.mbarrier.alloc<1>({0});
// EXPECT:       |                  ^
// EXPECT:   help: a phase has between 1 and 2^20 - 1 of them
