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

// EXPECT: explicit-sliced-registers.cpp:14: error PS1606: `t` (128x32 f32, local) lies in registers as 128x32 threads [8:1*4 16:0*1] registers [4:1*1 8:0*16]; it is not transposed, and not divided in this way
// EXPECT:    14 |     b.fill(slice(t, {0, 0}, {128, 16}), 1);
// EXPECT:       |            ^
// EXPECT:   help: a slice has constant offsets, and each thread has the same registers of it: columns by multiples of 8 for wgmma
