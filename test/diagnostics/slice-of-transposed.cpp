//===- slice-of-transposed.cpp - A slice outside of a transposed tile -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(16, 64);
    b.copy(X.at(0, 0), x);
    b.copy(slice(transposed(x), {0, 0}, {32, 16}), Y.at(0, 0));
    b.copy(slice(transposed(x), {0, 16}, {32, 16}), Y.at(0, 32));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: slice-of-transposed.cpp:15: error PS1107: a slice of 16 elements at 16 along dimension 1 lies outside of `x` (64x16 f32, shared)
// EXPECT:    15 |     b.copy(slice(transposed(x), {0, 16}, {32, 16}), Y.at(0, 32));
// EXPECT:       |            ^
// EXPECT:   help: offset and size together are at most 16 there
