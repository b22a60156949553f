//===- wgmma-registers.cpp - An accumulator without registers for the rest ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
/// 512 threads share 65536 registers: 128 for each, all of which the accumulator takes.
struct Product {
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    b.threads(512);
    auto As = b.shared<f16>(256, 64), Bs = b.shared<f16>(256, 64);
    auto acc = b.local<f32>(256, 256);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.fence.proxy_async();
    b.sync();
    b.wgmma.fence();
    b.wgmma.mma(As, transposed(Bs), acc, {.accumulate = false});
    b.wgmma.commit_group();
    b.wgmma.wait_group(0);
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::sm_90a()); }

// EXPECT: wgmma-registers.cpp:21: error PS1603: the accumulator `acc` (256x256 f32, local) of wgmma takes 128 registers of a thread and 26 more; a thread of a block of 512 threads has 128
// EXPECT:    21 |     b.wgmma.mma(As, transposed(Bs), acc, {.accumulate = false});
// EXPECT:       |     ^
// EXPECT:   help: use a smaller tile, or fewer threads
