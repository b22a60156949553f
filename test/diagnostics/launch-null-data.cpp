//===- launch-null-data.cpp - A tensor without memory ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32);
  float *y = nullptr;
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel(view(x, {64, 32}), view(y, {64, 32}));
}

// EXPECT: launch-null-data.cpp:13: error PS1304: `Y` has 2048 elements, but its data is a null pointer
// EXPECT:    13 |   kernel(view(x, {64, 32}), view(y, {64, 32}));
// EXPECT:       |   ^
// EXPECT: launch-null-data.cpp:12: note: `CopyMatrix` was compiled here
// EXPECT:    12 |   auto kernel = compile(CopyMatrix{}, Target::native());
// EXPECT:       |                 ^
