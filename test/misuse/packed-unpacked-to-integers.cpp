//===- packed-unpacked-to-integers.cpp - f4 values as integers ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<f4e2m1x2, 2> packed, Tile<i8, 2> values) {
  b.unpack(packed, values); // SHOWN: those of i4x2 may also be i8 or i32
}
