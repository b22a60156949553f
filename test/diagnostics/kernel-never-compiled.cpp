//===- kernel-never-compiled.cpp - A call of an empty kernel --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32), y(64 * 32);
  Kernel<CopyMatrix> kernel;
  kernel(view(x, {64, 32}), view(y, {64, 32}));
}

// EXPECT: kernel-never-compiled.cpp:12: error PS1003: this kernel was never compiled
// EXPECT:    12 |   kernel(view(x, {64, 32}), view(y, {64, 32}));
// EXPECT:       |   ^
// EXPECT:   help: assign the result of compile(..) before calling it
