//===- fix-without-signature.cpp - A size is fixed without signature ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Copy {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    b.store(Y.at(0), X.load(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Copy{}, Target::native(), {.fix = {{"N", 8192}}}); }

// EXPECT: fix-without-signature.cpp:17: error PS1007: `fix` names the size `N`, but the kernel has no signature
// EXPECT:    17 | WRONG_PROGRAM { compile(Copy{}, Target::native(), {.fix = {{"N", 8192}}}); }
// EXPECT:       |                 ^
// EXPECT:   help: give it one, as in: static constexpr auto signature = "A[M,K] -> C[M]";
