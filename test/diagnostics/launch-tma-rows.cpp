//===- launch-tma-rows.cpp - Rows that TMA cannot copy --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Load {
  void operator()(Block &b, In<f16, 2> A) const {
    b.threads(32);
    auto tile = b.shared<f16>(64, 64);
    auto [full] = b.mbarrier.alloc<1>({1});
    b.elect_one([&] { b.mbarrier.arrive_expect(full, tile.bytes()); });
    b.tma.load(A.at(0, 0), tile, full);
    b.mbarrier.wait(full, 0);
  }
};
} // namespace

WRONG_PROGRAM {
  auto load = compile(Load{}, Target::sm_90a().emulated());
  std::vector<f16> a(64 * 60);
  load(view(a, {64, 60}));
}

// EXPECT: launch-tma-rows.cpp:23: error PS1608: rows of `arg0` are 120 bytes apart; the kernel copies them with an engine that needs multiples of 16
// EXPECT:    23 |   auto load = compile(Load{}, Target::sm_90a().emulated());
// EXPECT:       |               ^
// EXPECT:   help: pad the rows
