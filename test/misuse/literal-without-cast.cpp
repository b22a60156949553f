//===- literal-without-cast.cpp - A product of an index and a fraction ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void kernel(Block &b, Index n) {
  for (Index k : b.range(n * 1.5)) // FIRST ERROR: cast<T>
    b.print("{}", {k});
}
