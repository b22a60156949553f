//===- broadcast-matrix.cpp - A column of a matrix as a vector ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<f32, 2> S, Tile<f32, 2> column) {
  b.set(S, S * broadcast_rows(column)); // FIRST ERROR: .dims(0)
}
