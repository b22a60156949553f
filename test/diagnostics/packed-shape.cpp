//===- packed-shape.cpp - Values that do not fit --------------------------===//
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
    auto values = b.local<f32>(8, 16);
    b.copy(A.at(0, 0), packed);
    b.unpack(packed, values);
    b.copy(values, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::native()); }

// EXPECT: packed-shape.cpp:15: error PS1763: `unpack` of `packed` (8x16 i4x2, shared) does not fit `values` (8x16 f32, local)
// EXPECT:    15 |     b.unpack(packed, values);
// EXPECT:       |     ^
// EXPECT:   help: each byte holds two values along the last dimension
