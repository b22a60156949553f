//===- gemm-packed-on-gpu.cpp - A packed operand on a GPU -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

WRONG_PROGRAM {
  auto kernel = [](Block &b, In<bf16, 2> A, In<bf16, 4> B, Out<f32, 2> C) {
    auto As = b.shared<bf16>(64, 32);
    auto Bs = packed_tile<bf16>(b, 32, 64);
    auto acc = b.local<f32>(64, 64);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0, 0, 0), Bs);
    b.gemm(As, Bs, acc, {.accumulate = false});
    b.copy(acc, C.at(0, 0));
  };
  compile(kernel, Target::sm_90a(), {.name = "packed"});
}

// EXPECT: gemm-packed-on-gpu.cpp:16: error PS1761: the packed operand `Bs` (4x16x16x2 bf16, shared) of `gemm` is only supported on CPUs
// EXPECT:    16 |     b.gemm(As, Bs, acc, {.accumulate = false});
// EXPECT:       |     ^
// EXPECT:   help: multiply by a two-dimensional tile
