//===- tile-of-another-kernel.cpp - A tile is kept for another kernel -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
Tile<f32, 1> kept;

struct First {
  void operator()(Block &b, In<f32, 1> X) const {
    kept = b.local<f32>(64);
    b.copy(X.at(0), kept);
  }
};
struct Second {
  void operator()(Block &b, Out<f32, 1> Y) const {
    b.copy(kept, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM {
  compile(First{}, Target::interpreter());
  compile(Second{}, Target::interpreter());
}

// EXPECT: tile-of-another-kernel.cpp:20: error PS1002: the source of the copy belongs to another kernel
// EXPECT:    20 |     b.copy(kept, Y.at(0));
// EXPECT:       |     ^
// EXPECT:   help: tiles and scalars live as long as the recording of their kernel; do not keep them
