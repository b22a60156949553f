//===- set-index-beyond-rank.cpp - The index along a missing dimension ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Iota {
  void operator()(Block &b, Out<i32, 1> Y) const {
    auto y = b.local<i32>(64);
    b.set(y, cast<i32>(index(y, 1)));
    b.copy(y, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Iota{}, Target::native()); }

// EXPECT: set-index-beyond-rank.cpp:13: error PS1118: an element of `y` (64 i32, local) has no index along dimension 1
// EXPECT:    13 |     b.set(y, cast<i32>(index(y, 1)));
// EXPECT:       |     ^
// EXPECT:   help: dimensions are counted from 0; the last one is 0
