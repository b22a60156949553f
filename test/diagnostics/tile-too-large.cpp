//===- tile-too-large.cpp - A whole tensor as one tile --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto everything = b.local<f32>(16384, 16384);
    b.copy(X.at(0, 0), everything);
    b.copy(everything, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tile-too-large.cpp:12: error PS1101: `everything` has more than 2^26 elements
// EXPECT:    12 |     auto everything = b.local<f32>(16384, 16384);
// EXPECT:       |                       ^
// EXPECT:   help: let each block work on a smaller part
