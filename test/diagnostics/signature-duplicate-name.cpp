//===- signature-duplicate-name.cpp - Two arguments have one name ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Copy {
  static constexpr auto signature = "X[N] -> X[N]";

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    b.store(Y.at(0), X.load(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Copy{}, Target::native()); }

// EXPECT: signature-duplicate-name.cpp:19: error PS1004: the signature "X[N] -> X[N]" cannot be read: two arguments are called `X`
// EXPECT:    19 | WRONG_PROGRAM { compile(Copy{}, Target::native()); }
// EXPECT:       |                 ^
// EXPECT:   help: a signature looks like "A[M,K], B[N,K], scale -> C[M,N]"
