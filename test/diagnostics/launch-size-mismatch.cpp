//===- launch-size-mismatch.cpp - Sizes that the signature says are equal -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32), y(64 * 16);
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel(view(x, {64, 32}), view(y, {64, 16}));
}

// EXPECT: launch-size-mismatch.cpp:12: error PS1302: `N` is 16 as size 1 of `Y`, but 32 as size 1 of `X`
// EXPECT:    12 |   kernel(view(x, {64, 32}), view(y, {64, 16}));
// EXPECT:       |   ^
// EXPECT: launch-size-mismatch.cpp:11: note: `CopyMatrix` was compiled here
// EXPECT:    11 |   auto kernel = compile(CopyMatrix{}, Target::native());
// EXPECT:       |                 ^
// EXPECT:   help: its signature is "X[M,N] -> Y[M,N]"
