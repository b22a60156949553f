//===- helper-passes-caller.cpp - A helper shows the line of its caller ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
class Accumulator {
public:
  Accumulator(Block &b, int m, int n, Loc at = here()) : b(b), acc(b.local<f32>(m, n, {}, at)) {
    acc.named("acc");
    b.fill(acc, 0, at);
  }
  void add(const Tile<f16, 2> &x, const Tile<f16, 2> &y, Loc at = here()) {
    b.gemm(x, y, acc, {}, at);
  }
  Block &b;
  Tile<f32, 2> acc;
};

struct Matmul {
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto As = b.shared<f16>(32, 64), Bs = b.shared<f16>(64, 16);
    Accumulator sum(b, 32, 32);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    sum.add(As, Bs);
    b.copy(sum.acc, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Matmul{}, Target::native()); }

// EXPECT: helper-passes-caller.cpp:29: error PS1102: the product of `As` (32x64 f16, shared) and `Bs` (64x16 f16, shared) is 32x16, but the accumulator is `acc` (32x32 f32, local)
// EXPECT:    29 |     sum.add(As, Bs);
// EXPECT:       |     ^
// EXPECT:   help: the first operand is M x K, the second K x N and the accumulator M x N
