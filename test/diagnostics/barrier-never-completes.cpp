//===- barrier-never-completes.cpp - A wait without an arrival ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Wait {
  void operator()(Block &b) const {
    b.threads(128);
    auto [bar] = b.mbarrier.alloc<1>({2});
    b.elect_one([&] { b.mbarrier.arrive(bar); });
    b.mbarrier.wait(bar, 0);
  }
};
} // namespace

WRONG_PROGRAM { compile(Wait{}, Target::sm_90a()); }

// EXPECT: barrier-never-completes.cpp:15: error PS1611: this wait never ends: `bar` has 1 of 2 arrivals
// EXPECT:    15 |     b.mbarrier.wait(bar, 0);
// EXPECT:       |     ^ by warps 0 to 3, for the phase of parity 0
// EXPECT:   help: each phase needs 2 arrivals; a consumer starts with phase 0, a producer with phase 1
