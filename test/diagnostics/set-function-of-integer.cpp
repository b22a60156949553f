//===- set-function-of-integer.cpp - The exponential of an integer --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Decay {
  void operator()(Block &b, Out<f32, 1> Y) const {
    auto y = b.local<f32>(64);
    b.set(y, cast<f32>(exp2(-row(y))));
    b.copy(y, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Decay{}, Target::native()); }

// EXPECT: set-function-of-integer.cpp:13: error PS1103: `exp2` is applied to an integer
// EXPECT:    13 |     b.set(y, cast<f32>(exp2(-row(y))));
// EXPECT:       |                             ^
// EXPECT:   help: cast<f32>(..) the operand first
