//===- packed-cast.cpp - A packed tile in an expression -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<i4x2, 2> packed, Tile<f32, 2> S) {
  b.set(S, cast<f32>(packed)); // SHOWN: b.unpack(packed, values)
}
