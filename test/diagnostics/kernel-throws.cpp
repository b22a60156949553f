//===- kernel-throws.cpp - An exception inside of a tile loop -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
int checkedWidth(int width) {
  if (width % 16)
    throw std::invalid_argument("the width must be a multiple of 16");
  return width;
}

struct Program {
  int width = 24;

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    for (Index i : b.range(0, X.size(0), 16)) {
      auto x = b.local<f32>(checkedWidth(width));
      b.copy(X.at(i), x);
      b.copy(x, Y.at(i));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: kernel-throws.cpp:29: error PS1008: the kernel function threw while it was recorded: the width must be a multiple of 16
// EXPECT:    29 | WRONG_PROGRAM { compile(Program{}, Target::native()); }
// EXPECT:       |                 ^
// EXPECT: kernel-throws.cpp:20: note: this was recorded last before it threw
// EXPECT:    20 |     for (Index i : b.range(0, X.size(0), 16)) {
// EXPECT:       |                    ^
