//===- repeated-error.cpp - An error in a C++ loop is reported once --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(16, 16);
    auto row = b.local<f32>(32);
    b.copy(X.at(0, 0), x);
    for (int i = 0; i < 16; ++i)
      b.copy(x[i], row);
    b.copy(row, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: repeated-error.cpp:16: error PS1102: `copy` goes from `x` (16 f32, shared) to `row` (32 f32, local): the shapes differ
// EXPECT:    16 |       b.copy(x[i], row);
// EXPECT:       |       ^
// EXPECT:   help: use slice(..) to copy a part of the larger one
