//===- packed-copied.cpp - Packed elements copied to bytes ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Tile<f4e2m1x2, 2> packed, Tile<i8, 2> bytes) {
  b.copy(packed, bytes); // SHOWN: a copy does not convert packed elements
}
