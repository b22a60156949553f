//===- barrier-uninitialized-tile.cpp - A tile that nothing writes is read ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Uninitialized {
  void operator()(Block &b, Out<f16, 2> C) const {
    b.threads(128);
    auto Cs = b.shared<f16>(128, 64);
    auto [ready] = b.mbarrier.alloc<1>({128});
    b.mbarrier.arrive(ready);
    b.mbarrier.wait(ready, 0);
    b.tma.store(Cs, C.at(0, 0));
    b.tma.commit_group();
    b.tma.wait_group(0);
  }
};
} // namespace

WRONG_PROGRAM { compile(Uninitialized{}, Target::sm_90a()); }

// EXPECT: barrier-uninitialized-tile.cpp:17: error PS1616: `tma.store` reads `Cs`, which nothing has written
// EXPECT:    17 |     b.tma.store(Cs, C.at(0, 0));
// EXPECT:       |     ^ by warps 0 to 3
// EXPECT:   help: write it first, or leave out the read where the loop that writes it has no iterations
