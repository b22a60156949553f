//===- barrier-read-before-wait.cpp - A tile is read before its wait ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Read {
  void operator()(Block &b, In<f16, 2> A, Out<f16, 2> C) const {
    b.threads(128);
    auto As = b.shared<f16>(128, 64);
    auto t = b.local<f16>(128, 64);
    auto [full] = b.mbarrier.alloc<1>({1});
    b.warp(0, [&] {
      b.elect_one([&] { b.mbarrier.arrive_expect(full, As.bytes()); });
      b.tma.load(A.at(0, 0), As, full);
    });
    b.copy(As, t);
    b.mbarrier.wait(full, 0);
    b.copy(t, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Read{}, Target::sm_90a()); }

// EXPECT: barrier-read-before-wait.cpp:20: error PS1612: `copy` may read `As` before an earlier `tma.load` has written it
// EXPECT:    20 |     b.copy(As, t);
// EXPECT:       |     ^ by warp 0
// EXPECT: barrier-read-before-wait.cpp:18: note: written here by `tma.load` of warp 0, asynchronously
// EXPECT:    18 |       b.tma.load(A.at(0, 0), As, full);
// EXPECT:       |       ^
// EXPECT:   help: wait, before reading, for a barrier that the writer arrives on
