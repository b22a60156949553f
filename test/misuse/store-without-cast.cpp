//===- store-without-cast.cpp - An index is stored in a tile of numbers ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<f32, 1> v, Index n) {
  b.store(v, 0, n); // FIRST ERROR: cast<T>
}
