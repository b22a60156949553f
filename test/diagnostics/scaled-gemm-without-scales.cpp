//===- scaled-gemm-without-scales.cpp - 4-bit values without scales -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b, In<f4e2m1x2, 2> A, Out<f32, 2> C) const {
    auto As = b.shared<f4e2m1x2>(128, 128), Bs = b.shared<f4e2m1x2>(128, 128);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    b.copy(A.at(0, 0), As);
    b.copy(A.at(0, 0), Bs);
    b.gemm(As, transposed(Bs), acc);
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::native()); }

// EXPECT: scaled-gemm-without-scales.cpp:17: error PS1764: a product of `As` (128x128 f4e2m1x2, shared) without scales
// EXPECT:    17 |     b.gemm(As, transposed(Bs), acc);
// EXPECT:       |     ^
// EXPECT:   help: f4e2m1x2 is multiplied with .scale_a and .scale_b; or unpack it with b.unpack(packed, values)
