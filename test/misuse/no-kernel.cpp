//===- no-kernel.cpp - What is compiled has a generic call operator -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

void run() {
  auto kernel = compile([](auto &b, In<f32, 1> x) {}, Target::native()); // FIRST ERROR: Block &b
}
