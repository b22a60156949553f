//===- if-on-a-condition.cpp - A plain if on a condition with a name ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Index n, Tile<f32, 2> S) {
  auto some = n > 0 && n < 100;
  if (!some) // FIRST ERROR: b.when
    b.fill(S, 0);
}
