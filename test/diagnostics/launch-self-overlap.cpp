//===- launch-self-overlap.cpp - Rows of the output overlap ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32), y(64 * 32);
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel(view(x, {64, 32}), view(y.data(), {64, 32}, {16, 1}));
}

// EXPECT: launch-self-overlap.cpp:12: error PS1303: `Y` is written, but its strides map different elements to the same memory
// EXPECT:    12 |   kernel(view(x, {64, 32}), view(y.data(), {64, 32}, {16, 1}));
// EXPECT:       |   ^
// EXPECT: launch-self-overlap.cpp:11: note: `CopyMatrix` was compiled here
// EXPECT:    11 |   auto kernel = compile(CopyMatrix{}, Target::native());
// EXPECT:       |                 ^
// EXPECT:   help: give every row memory of its own: a stride of at least 32 elements
