//===- fix-unknown-size.cpp - The signature does not have that size -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Copy {
  static constexpr auto signature = "X[M] -> Y[M]";

  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    b.store(Y.at(0), X.load(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Copy{}, Target::native(), {.fix = {{"N", 8192}}}); }

// EXPECT: fix-unknown-size.cpp:19: error PS1007: `fix` names the size `N`, which the signature does not have
// EXPECT:    19 | WRONG_PROGRAM { compile(Copy{}, Target::native(), {.fix = {{"N", 8192}}}); }
// EXPECT:       |                 ^
// EXPECT:   help: the signature is "X[M] -> Y[M]"
