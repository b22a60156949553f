//===- set-without-cast.cpp - A tile of numbers is set to indices ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<f32, 2> S) {
  b.set(S, row(S) + col(S)); // FIRST ERROR: cast<T>
}
