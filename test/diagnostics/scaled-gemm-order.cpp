//===- scaled-gemm-order.cpp - An operand without k last ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b, In<f8e4m3, 2> A, In<f8e8m0, 4> S, Out<f32, 2> C) const {
    auto As = b.shared<f8e4m3>(128, 128), Bs = b.shared<f8e4m3>(128, 128);
    auto SA = b.shared<f8e8m0>(1, 1, 32, 16);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    b.copy(A.at(0, 0), As);
    b.copy(A.at(0, 0), Bs);
    b.copy(S.at(0, 0, 0, 0), SA);
    b.gemm(As, Bs, acc, {.scale_a = SA, .scale_b = SA});
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::native()); }

// EXPECT: scaled-gemm-order.cpp:19: error PS1764: the second operand `Bs` (128x128 f8 e4m3, shared) of a product with scales does not lie with k last
// EXPECT:    19 |     b.gemm(As, Bs, acc, {.scale_a = SA, .scale_b = SA});
// EXPECT:       |     ^
// EXPECT:   help: store it as N x K and multiply by transposed(..)
