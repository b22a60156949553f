//===- launch-misaligned.cpp - Memory that is not aligned to its elements -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32);
  alignas(4) static char bytes[64 * 32 * 4 + 1];
  auto *y = reinterpret_cast<float *>(bytes + 1);
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel(view(x, {64, 32}), view(y, {64, 32}));
}

// EXPECT: launch-misaligned.cpp:14: error PS1304: `Y` holds f32 and is not aligned to 4 bytes
// EXPECT:    14 |   kernel(view(x, {64, 32}), view(y, {64, 32}));
// EXPECT:       |   ^
// EXPECT: launch-misaligned.cpp:13: note: `CopyMatrix` was compiled here
// EXPECT:    13 |   auto kernel = compile(CopyMatrix{}, Target::native());
// EXPECT:       |                 ^
// EXPECT:   help: pass memory that was allocated as f32
