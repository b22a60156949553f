//===- tile-negative-extent.cpp - A computed extent is negative -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int block = 16, halo = 32;

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto inner = b.shared<f32>(block, block - halo);
    b.copy(X.at(0, 0), inner);
    b.copy(inner, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tile-negative-extent.cpp:14: error PS1101: dimension 1 of `inner` is -16
// EXPECT:    14 |     auto inner = b.shared<f32>(block, block - halo);
// EXPECT:       |                  ^
// EXPECT:   help: the shape of a tile is known when the kernel is compiled, and every extent is at least 1
