//===- launch-late-completion.cpp - Compiled without late completion ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy-matrix.h"

WRONG_PROGRAM {
  std::vector<float> x(64 * 32), y(64 * 32);
  auto kernel = compile(CopyMatrix{}, Target::native());
  kernel.launch({.completion = Completion::Latest}, view(x, {64, 32}), view(y, {64, 32}));
}

// EXPECT: launch-late-completion.cpp:12: error PS1307: `CopyMatrix` was compiled without late completion; its asynchronous operations are complete when they are issued
// EXPECT:    12 |   kernel.launch({.completion = Completion::Latest}, view(x, {64, 32}), view(y, {64, 32}));
// EXPECT:       |   ^
// EXPECT:   help: compile with {.late_completion = true}, or for Target::interpreter()
