//===- parallel-zero-extent.cpp - A parallel body for no elements ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  int threads = 0;

  void operator()(Block &b, Out<f32, 1> Y) const {
    b.parallel(threads, [&](Index i) { b.store(Y.at(i), 1); });
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: parallel-zero-extent.cpp:14: error PS1101: `parallel` runs over an extent of 0; extents are at least 1 and their product at most 2^26
// EXPECT:    14 |     b.parallel(threads, [&](Index i) { b.store(Y.at(i), 1); });
// EXPECT:       |     ^
