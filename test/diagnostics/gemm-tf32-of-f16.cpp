//===- gemm-tf32-of-f16.cpp - TF32 of operands that are not f32 -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  void operator()(Block &b, In<bf16, 2> A, Out<f32, 2> C) const {
    auto As = b.shared<bf16>(32, 32);
    auto acc = b.local<f32>(32, 32);
    b.copy(A.at(0, 0), As);
    b.gemm(As, transposed(As), acc, {.accumulate = false, .tf32 = true});
    b.copy(acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::native()); }

// EXPECT: gemm-tf32-of-f16.cpp:15: error PS1103: precision tf32 applies to f32 operands, not to bf16
// EXPECT:    15 |     b.gemm(As, transposed(As), acc, {.accumulate = false, .tf32 = true});
// EXPECT:       |     ^
// EXPECT:   help: leave .tf32 out; other types are multiplied as they are
