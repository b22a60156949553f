//===- scalar-after-loop.cpp - The index of a loop is used after it -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <optional>

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    std::optional<Index> last;
    for (Index i : b.range(X.size(0)))
      last.emplace(i);
    b.store(Y.at(0), X.load(*last));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: scalar-after-loop.cpp:17: error PS1002: the index was computed inside a loop, condition or statement that has ended
// EXPECT:    17 |     b.store(Y.at(0), X.load(*last));
// EXPECT:       |                             ^
// EXPECT:   help: keep it in a tile or in a Var that is declared outside
