//===- run-in-flight.cpp - A tile is read before its copy is awaited ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct RowSum {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 1> Y) const {
    auto x = b.shared<f32>(4, 16);
    auto sum = b.local<f32>(4);
    b.copy(X.at(0, 0), x, {.async = "load"});
    b.reduce(penstock::Sum, x, 1, sum);
    b.wait("load");
    b.copy(sum, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(4 * 16), y(4);
  auto kernel = compile(RowSum{}, Target::interpreter());
  kernel.launch({.completion = Completion::Latest}, view(x, {4, 16}), view(y, {4}));
}

// EXPECT: run-in-flight.cpp:15: error PS1410: `reduce` reads `x` at [0, 0], which the asynchronous `copy` "load" still uses
// EXPECT:    15 |     b.reduce(penstock::Sum, x, 1, sum);
// EXPECT:       |     ^
// EXPECT: run-in-flight.cpp:14: note: it is issued here, and not awaited in between
// EXPECT:    14 |     b.copy(X.at(0, 0), x, {.async = "load"});
// EXPECT:       |     ^
// EXPECT:   help: add `b.wait("load")` before this access
