//===- signature-argument-count.cpp - The signature forgets an argument ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Scale {
  static constexpr auto signature = "X[N] -> Y[N]";

  void operator()(Block &b, In<f32, 1> X, Scalar<f32> scale, Out<f32, 1> Y) const {
    b.store(Y.at(0), X.load(0) * scale);
  }
};
} // namespace

WRONG_PROGRAM { compile(Scale{}, Target::native()); }

// EXPECT: signature-argument-count.cpp:19: error PS1004: the signature "X[N] -> Y[N]" names 2 arguments and the kernel takes 3
// EXPECT:    19 | WRONG_PROGRAM { compile(Scale{}, Target::native()); }
// EXPECT:       |                 ^
// EXPECT:   help: name every tensor and scalar that the kernel takes, in their order
