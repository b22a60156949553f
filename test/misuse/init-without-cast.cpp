//===- init-without-cast.cpp - A number that begins as an index -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Index n, Tile<f32, 2> S) {
  Scalar<f32> size = n; // FIRST ERROR: cast<T>
  b.fill(S, size);
}
