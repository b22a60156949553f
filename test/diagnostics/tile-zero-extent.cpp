//===- tile-zero-extent.cpp - A field of the kernel was not set -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int block = 0;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(block);
    b.copy(X.at(0), x);
    b.copy(x, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tile-zero-extent.cpp:14: error PS1101: dimension 0 of `x` is 0
// EXPECT:    14 |     auto x = b.local<f32>(block);
// EXPECT:       |              ^
// EXPECT:   help: the shape of a tile is known when the kernel is compiled, and every extent is at least 1
