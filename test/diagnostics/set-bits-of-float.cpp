//===- set-bits-of-float.cpp - Floating-point values combined with & ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Clip {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(64);
    b.copy(X.at(0), x);
    b.set(x, x & 1);
    b.copy(x, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Clip{}, Target::native()); }

// EXPECT: set-bits-of-float.cpp:14: error PS1103: bits of a floating-point value are combined
// EXPECT:    14 |     b.set(x, x & 1);
// EXPECT:       |              ^
// EXPECT:   help: `&`, `|`, `^`, `<<` and `>>` are for integers; cast<i32>(..) the operands first
