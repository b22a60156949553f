//===- launch-fixed-size.cpp - Another size than the one that was fixed ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32), y(64 * 32);
  auto kernel = compile(CopyMatrix{}, Target::native(), {.fix = {{"N", 64}}});
  kernel(view(x, {64, 32}), view(y, {64, 32}));
}

// EXPECT: launch-fixed-size.cpp:12: error PS1302: `N` is 32 as size 1 of `X`, but `fix` made it 64 when the kernel was compiled
// EXPECT:    12 |   kernel(view(x, {64, 32}), view(y, {64, 32}));
// EXPECT:       |   ^
// EXPECT: launch-fixed-size.cpp:11: note: `CopyMatrix` was compiled here
// EXPECT:    11 |   auto kernel = compile(CopyMatrix{}, Target::native(), {.fix = {{"N", 64}}});
// EXPECT:       |                 ^
// EXPECT:   help: its signature is "X[M,N] -> Y[M,N]"
