//===- launch-negative-size.cpp - A computed size is negative -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32), y(64 * 32);
  int64_t rows = 64, done = 100;
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel(view(x, {rows - done, 32}), view(y, {64, 32}));
}

// EXPECT: launch-negative-size.cpp:13: error PS1302: size 0 of `X` is -36; it must not be negative
// EXPECT:    13 |   kernel(view(x, {rows - done, 32}), view(y, {64, 32}));
// EXPECT:       |   ^
// EXPECT: launch-negative-size.cpp:12: note: `CopyMatrix` was compiled here
// EXPECT:    12 |   auto kernel = compile(CopyMatrix{}, Target::native());
// EXPECT:       |                 ^
