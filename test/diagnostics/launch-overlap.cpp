//===- launch-overlap.cpp - The output overlaps with the input ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(65 * 32);
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel(view(x.data(), {64, 32}), view(x.data() + 32, {64, 32}));
}

// EXPECT: launch-overlap.cpp:12: error PS1305: `X` and `Y` share memory, and `Y` is written
// EXPECT:    12 |   kernel(view(x.data(), {64, 32}), view(x.data() + 32, {64, 32}));
// EXPECT:       |   ^
// EXPECT: launch-overlap.cpp:11: note: `CopyMatrix` was compiled here
// EXPECT:    11 |   auto kernel = compile(CopyMatrix{}, Target::native());
// EXPECT:       |                 ^
// EXPECT:   help: give the kernel separate tensors, or one InOut tensor
