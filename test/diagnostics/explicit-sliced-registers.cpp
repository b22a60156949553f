//===- explicit-sliced-registers.cpp - A slice of a tile in registers -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Half {
  void operator()(Block &b, Out<f32, 2> C) const {
    b.threads(128);
    auto t = b.local<f32>(128, 32);
    b.fill(slice(t, {0, 0}, {128, 16}), 1);
    b.copy(t, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Half{}, Target::sm_100a()); }

// EXPECT: explicit-sliced-registers.cpp:14: error PS1606: `t` (128x32 f32, local) lies in registers; it is used as a whole, not by slices
// EXPECT:    14 |     b.fill(slice(t, {0, 0}, {128, 16}), 1);
// EXPECT:       |            ^
