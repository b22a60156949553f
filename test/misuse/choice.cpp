//===- choice.cpp - C++'s choice between two values -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

Index kernel(Index n) {
  return n > 8 ? n : Index(8); // FIRST ERROR: select(c, x, y)
}
