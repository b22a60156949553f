//===- tiles-exceed-memory.cpp - Tiles that are too many together ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int parts = 40;

  void operator()(Block &b, InOut<f32, 2> X) const {
    for (int i = 0; i < parts; ++i) {
      auto part = b.local<f32>(4096, 4096);
      b.copy(X.at(i * 4096, 0), part);
      b.copy(part, X.at(i * 4096, 0));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: tiles-exceed-memory.cpp:15: error PS1119: the tiles of a block need more than 2 GiB
// EXPECT:    15 |       auto part = b.local<f32>(4096, 4096);
// EXPECT:       |                   ^
// EXPECT:   help: let each block work on smaller tiles
