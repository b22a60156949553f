//===- ring-slot-outside.cpp - A slot that a ring does not have -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Ring {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto ring = b.shared<f32>(2, 16, 16);
    b.copy(X.at(0, 0), ring[0]);
    b.copy(X.at(16, 0), ring[1]);
    b.copy(ring[2], Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Ring{}, Target::native()); }

// EXPECT: ring-slot-outside.cpp:15: error PS1107: a slice of 1 element at 2 along dimension 0 lies outside of `ring` (2x16x16 f32, shared)
// EXPECT:    15 |     b.copy(ring[2], Y.at(0, 0));
// EXPECT:       |                 ^
// EXPECT:   help: offset and size together are at most 2 there
