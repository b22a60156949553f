//===- gemm-accumulator-operand.cpp - The accumulator is also an operand --===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Square {
  void operator()(Block &b, InOut<f32, 2> X) const {
    auto x = b.local<f32>(32, 32);
    b.copy(X.at(0, 0), x);
    b.gemm(x, x, x);
    b.copy(x, X.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Square{}, Target::native()); }

// EXPECT: gemm-accumulator-operand.cpp:14: error PS1102: the accumulator `x` (32x32 f32, local) is also an operand of `gemm`
// EXPECT:    14 |     b.gemm(x, x, x);
// EXPECT:       |     ^
// EXPECT:   help: copy the operand into a tile of its own first
