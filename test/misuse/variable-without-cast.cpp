//===- variable-without-cast.cpp - A variable that begins as an index -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Index n) {
  Var<int> count(b, n); // FIRST ERROR: cast<T>
  count += 1;
}
