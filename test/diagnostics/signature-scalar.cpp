//===- signature-scalar.cpp - The signature gives a scalar dimensions -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Scale {
  static constexpr auto signature = "X[N], scale[1] -> Y[N]";

  void operator()(Block &b, In<f32, 1> X, Scalar<f32> scale, Out<f32, 1> Y) const {
    b.store(Y.at(0), X.load(0) * scale);
  }
};
} // namespace

WRONG_PROGRAM { compile(Scale{}, Target::native()); }

// EXPECT: signature-scalar.cpp:19: error PS1004: the signature "X[N], scale[1] -> Y[N]" gives `scale` 1 dimension, but argument 1 of the kernel is a scalar
// EXPECT:    19 | WRONG_PROGRAM { compile(Scale{}, Target::native()); }
// EXPECT:       |                 ^
// EXPECT:   help: a scalar is a bare name
