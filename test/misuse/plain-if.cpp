//===- plain-if.cpp - A plain if on a condition of the kernel -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Index n, Tile<f32, 2> S) {
  if (n > 0) // FIRST ERROR: b.when
    b.fill(S, 0);
}
