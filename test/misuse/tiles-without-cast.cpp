//===- tiles-without-cast.cpp - A sum of tiles with different elements ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<f16, 2> h, Tile<f32, 2> S) {
  b.set(S, S + h); // FIRST ERROR: cast<T>
}
