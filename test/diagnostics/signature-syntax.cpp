//===- signature-syntax.cpp - A bracket of the signature is not closed ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Matmul {
  static constexpr auto signature = "A[M,K, B[K,N] -> C[M,N]";

  void operator()(Block &b, In<f32, 2> A, In<f32, 2> B, Out<f32, 2> C) const {
    b.store(C.at(0, 0), A.load(0, 0) * B.load(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::native()); }

// EXPECT: signature-syntax.cpp:19: error PS1004: the signature "A[M,K, B[K,N] -> C[M,N]" cannot be read: `]` is expected at "[K,N] -> C[M,N]"
// EXPECT:    19 | WRONG_PROGRAM { compile(Matmul{}, Target::native()); }
// EXPECT:       |                 ^
// EXPECT:   help: a signature looks like "A[M,K], B[N,K], scale -> C[M,N]"
