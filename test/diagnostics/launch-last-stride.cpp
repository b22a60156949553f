//===- launch-last-stride.cpp - A transposed view is passed ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32), y(64 * 32);
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel(view(x.data(), {64, 32}, {1, 64}), view(y, {64, 32}));
}

// EXPECT: launch-last-stride.cpp:12: error PS1303: `X` has a stride of 64 in its last dimension; kernels need it to be 1
// EXPECT:    12 |   kernel(view(x.data(), {64, 32}, {1, 64}), view(y, {64, 32}));
// EXPECT:       |   ^
// EXPECT: launch-last-stride.cpp:11: note: `CopyMatrix` was compiled here
// EXPECT:    11 |   auto kernel = compile(CopyMatrix{}, Target::native());
// EXPECT:       |                 ^
// EXPECT:   help: pass a contiguous copy, or write the kernel for the transposed tensor
