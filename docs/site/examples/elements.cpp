//===- elements.cpp - Examples of the C++ reference -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>
using namespace penstock;

// example: f4e2m1x2::f4e2m1x2, f4e2m1x2::low, f4e2m1x2::high
f4e2m1x2 two(1.5f, -6.0f);
float sum_of_both = two.low() + two.high();

// example: i4x2::i4x2, i4x2::low, i4x2::high
i4x2 pair_of_i4(-8, 7);
int low_and_high = pair_of_i4.low() + pair_of_i4.high();

// example: packed_value, set_packed_value
f6e2m3_packed row_of_f6[3] = {}; // four values in three bytes
float third() {
  set_packed_value(row_of_f6, 2, 1.5f);
  return packed_value(row_of_f6, 2);
}
