//===- run-block-race.cpp - Blocks that write one tile of a tensor --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct ColumnSums {
  static constexpr auto signature = "X[R,C] -> Y[C]";
  void operator()(Block &b, In<f32, 2> X, InOut<f32, 1> Y) const {
    auto first = b.grid(ceil_div(X.size(0), 16)) * 16;
    auto x = b.local<f32>(16, 8);
    auto sum = b.local<f32>(8);
    b.copy(X.at(first, 0), x);
    b.copy(Y.at(0), sum);
    b.reduce(penstock::Sum, x, 0, sum, {.accumulate = true});
    b.copy(sum, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(64 * 8), y(8);
  auto kernel = compile(ColumnSums{}, Target::interpreter());
  kernel(view(x, {64, 8}), view(y, {8}));
}

// EXPECT: run-block-race.cpp:17: error PS1408: `copy` reads `Y` at [0], which block (0) writes
// EXPECT:    17 |     b.copy(Y.at(0), sum);
// EXPECT:       |     ^ in block (1)
// EXPECT: run-block-race.cpp:19: note: block (0) writes it here
// EXPECT:    19 |     b.copy(sum, Y.at(0));
// EXPECT:       |     ^
// EXPECT:   help: blocks run in any order and at the same time; let each block access elements of its own, or use `b.atomic` for all accesses
// EXPECT: run-block-race.cpp:19: error PS1408: `copy` writes `Y` at [0], which block (0) writes
// EXPECT:    19 |     b.copy(sum, Y.at(0));
// EXPECT:       |     ^ in block (1)
// EXPECT: run-block-race.cpp:19: note: block (0) writes it here
// EXPECT:    19 |     b.copy(sum, Y.at(0));
// EXPECT:       |     ^
// EXPECT:   help: blocks run in any order and at the same time; let each block access elements of its own, or use `b.atomic` for all accesses
