//===- barrier-copy-not-awaited.cpp - A copy that is not awaited ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Prefetch {
  void operator()(Block &b, In<f16, 2> A) const {
    b.threads(128);
    auto As = b.shared<f16>(128, 64);
    auto [full] = b.mbarrier.alloc<1>({1});
    b.warp(0, [&] {
      b.elect_one([&] { b.mbarrier.arrive_expect(full, As.bytes()); });
      b.tma.load(A.at(0, 0), As, full);
    });
  }
};
} // namespace

WRONG_PROGRAM { compile(Prefetch{}, Target::sm_90a()); }

// EXPECT: barrier-copy-not-awaited.cpp:17: error PS1615: `tma.load` may still be under way when the kernel ends: no role waits for it
// EXPECT:    17 |       b.tma.load(A.at(0, 0), As, full);
// EXPECT:       |       ^ by warp 0
// EXPECT:   help: wait for its barrier, or do not copy what is not used
