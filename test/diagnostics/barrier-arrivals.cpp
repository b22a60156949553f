//===- barrier-arrivals.cpp - All threads arrive where one is counted -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Arrivals {
  void operator()(Block &b) const {
    b.threads(128);
    auto [bar] = b.mbarrier.alloc<1>({1});
    b.mbarrier.arrive(bar);
    b.mbarrier.wait(bar, 0);
  }
};
} // namespace

WRONG_PROGRAM { compile(Arrivals{}, Target::sm_90a()); }

// EXPECT: barrier-arrivals.cpp:14: error PS1614: `mbarrier.arrive` arrives 128 times on `bar`, which counts 1
// EXPECT:    14 |     b.mbarrier.arrive(bar);
// EXPECT:       |     ^
// EXPECT:   help: every thread of the scope arrives: put it into elect_one, or count all of them
