//===- gemm-element-types.cpp - A product of f16 accumulates in f16 -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto As = b.shared<f16>(16, 16);
    auto Bs = b.shared<f16>(16, 16);
    auto acc = b.local<f16>(16, 16);
    b.fill(acc, 0);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.gemm(As, Bs, acc);
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::native()); }

// EXPECT: gemm-element-types.cpp:18: error PS1103: `gemm` cannot multiply f16 by f16 into f16
// EXPECT:    18 |     b.gemm(As, Bs, acc);
// EXPECT:       |     ^
// EXPECT:   help: f16, bf16, f32 and the two f8 types accumulate in f32, i8 in i32; both operands have one type (the f8 types may be mixed)
