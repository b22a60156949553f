//===- copy-element-types.cpp - A copy does not convert integers ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Dequantize {
  void operator()(Block &b, In<i8, 2> X, Out<f32, 2> Y) const {
    auto x = b.local<f32>(16, 16);
    b.copy(X.at(0, 0), x);
    b.copy(x, Y.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Dequantize{}, Target::native()); }

// EXPECT: copy-element-types.cpp:13: error PS1103: `copy` goes from `arg0` (?x? i8, global) to `x` (16x16 f32, local)
// EXPECT:    13 |     b.copy(X.at(0, 0), x);
// EXPECT:       |     ^
// EXPECT:   help: only floating-point elements are converted by a copy; use `set` with a cast for others
