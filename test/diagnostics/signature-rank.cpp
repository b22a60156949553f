//===- signature-rank.cpp - The signature has another rank ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Bias {
  static constexpr auto signature = "X[M,N], bias[M,N] -> Y[M,N]";

  void operator()(Block &b, In<f32, 2> X, In<f32, 1> bias, Out<f32, 2> Y) const {
    b.store(Y.at(0, 0), X.load(0, 0) + bias.load(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Bias{}, Target::native()); }

// EXPECT: signature-rank.cpp:19: error PS1004: the signature "X[M,N], bias[M,N] -> Y[M,N]" gives `bias` 2 dimensions, but argument 1 of the kernel has 1
// EXPECT:    19 | WRONG_PROGRAM { compile(Bias{}, Target::native()); }
// EXPECT:       |                 ^
// EXPECT:   help: name one size for each dimension, as in "A[M,K]"
