//===- assigned-index.cpp - An index that changes from iteration to iteration -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Index n) {
  Index offset = n;
  for (Index k : b.range(n))
    offset = offset + k; // FIRST ERROR: Var<
}
