//===- explicit-wgmma-on-blackwell.cpp - Hopper's tensor core on Blackwell ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b, Out<f32, 2> C) const {
    b.threads(128);
    auto As = b.shared<f16>(64, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(64, 64);
    b.wgmma.fence();
    b.wgmma.mma(As, Bs, acc, {.accumulate = false});
    b.wgmma.commit_group();
    b.wgmma.wait_group(0);
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::sm_100a()); }

// EXPECT: explicit-wgmma-on-blackwell.cpp:15: error PS1601: `wgmma.fence` does not exist on sm_100a
// EXPECT:    15 |     b.wgmma.fence();
// EXPECT:       |     ^
// EXPECT:   help: compile the kernel for sm_90a
