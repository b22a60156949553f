//===- scalars-without-cast.cpp - A product of a number and an index ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<f32, 2> S, Scalar<f32> scale, Index n) {
  b.fill(S, scale * n); // FIRST ERROR: cast<T>
}
