//===- block-copied.cpp - A helper that takes the block by value ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void helper(Block b);

void kernel(Block &b) {
  helper(b); // FIRST ERROR: `Block &b`
}
