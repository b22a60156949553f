//===- gather-outside.cpp - An index outside of a table in an expression --===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Lookup {
  static constexpr auto signature = "Table[R] -> Y[N]";

  void operator()(Block &b, In<f32, 1> Table, Out<f32, 1> Y) const {
    auto y = b.local<f32>(16);
    b.set(y, Table.gather(row(y) - 1));
    b.copy(y, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> table(16), y(16);
  auto kernel = compile(Lookup{}, Target::native());
  kernel(view(table, {16}), view(y, {16}));
}

// EXPECT: gather-outside.cpp:15: error PS1402: an element outside of `Table` (? f32, global) is read
// EXPECT:    15 |     b.set(y, Table.gather(row(y) - 1));
// EXPECT:       |                           ^
// EXPECT:   help: compile it for Target::interpreter() to see the index and the block
