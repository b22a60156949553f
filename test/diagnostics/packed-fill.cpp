//===- packed-fill.cpp - Packed elements outside of a tensor --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b, In<i4x2, 2> A, Out<f32, 2> C) const {
    auto packed = b.shared<i4x2>(8, 16);
    auto values = b.local<f32>(8, 32);
    b.copy(A.at(0, 0), packed, {.fill = 1});
    b.unpack(packed, values);
    b.copy(values, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::native()); }

// EXPECT: packed-fill.cpp:14: error PS1763: a copy of packed elements is filled with zeros only
// EXPECT:    14 |     b.copy(A.at(0, 0), packed, {.fill = 1});
// EXPECT:       |     ^
// EXPECT:   help: leave .fill out, and set what lies outside after b.unpack(..)
