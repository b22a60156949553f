//===- counted-scalar.cpp - A scalar that counts --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Index n) {
  Scalar<int> count = 0;
  for (Index k : b.range(n))
    ++count; // FIRST ERROR: Var<
}
