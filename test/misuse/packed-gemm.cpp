//===- packed-gemm.cpp - 4-bit integers multiplied as they are ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<i4x2, 2> packed, Tile<f16, 2> S, Tile<f32, 2> acc) {
  b.gemm(packed, S, acc); // SHOWN: b.unpack(packed, values)
}
