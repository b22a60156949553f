//===- copy-shapes-differ.cpp - A tile is copied to a smaller one ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto whole = b.shared<f32>(64, 64);
    auto part = b.local<f32>(64, 16);
    b.copy(X.at(0, 0), whole);
    b.copy(whole, part);
    b.copy(part, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: copy-shapes-differ.cpp:15: error PS1102: `copy` goes from `whole` (64x64 f32, shared) to `part` (64x16 f32, local): the shapes differ
// EXPECT:    15 |     b.copy(whole, part);
// EXPECT:       |     ^
// EXPECT:   help: use slice(..) to copy a part of the larger one
