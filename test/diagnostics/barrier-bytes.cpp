//===- barrier-bytes.cpp - A barrier expects too few bytes ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Bytes {
  void operator()(Block &b, In<f16, 2> A) const {
    b.threads(128);
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
    auto [full] = b.mbarrier.alloc<1>({1});
    b.warp(0, [&] {
      b.elect_one([&] { b.mbarrier.arrive_expect(full, As.bytes()); });
      b.tma.load(A.at(0, 0), As, full);
      b.tma.load(A.at(128, 0), Bs, full);
    });
    b.mbarrier.wait(full, 0);
  }
};
} // namespace

WRONG_PROGRAM { compile(Bytes{}, Target::sm_90a()); }

// EXPECT: barrier-bytes.cpp:16: error PS1613: `full` is told to expect 16384 bytes in all, and copies bring 32768
// EXPECT:    16 |       b.elect_one([&] { b.mbarrier.arrive_expect(full, As.bytes()); });
// EXPECT:       |                         ^
// EXPECT: barrier-bytes.cpp:18: note: the last copy that arrives on it
// EXPECT:    18 |       b.tma.load(A.at(128, 0), Bs, full);
// EXPECT:       |       ^
// EXPECT:   help: announce, for each phase, the bytes of all tiles that are copied in it
