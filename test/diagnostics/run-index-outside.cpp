//===- run-index-outside.cpp - A load outside of its tensor, native -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Gather {
  static constexpr auto signature = "Table[R], Ids[N] -> Y[N]";

  void operator()(Block &b, In<f32, 1> Table, In<i32, 1> Ids, Out<f32, 1> Y) const {
    auto i = b.grid(Ids.size(0));
    b.store(Y.at(i), Table.load(Ids.load(i)));
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> table(8), y(4);
  std::vector<i32> ids = {3, 7, 8, 1};
  auto kernel = compile(Gather{}, Target::native());
  kernel(view(table, {8}), view(ids, {4}), view(y, {4}));
}

// EXPECT: run-index-outside.cpp:15: error PS1402: an element outside of `Table` (? f32, global) is read
// EXPECT:    15 |     b.store(Y.at(i), Table.load(Ids.load(i)));
// EXPECT:       |                                 ^
// EXPECT:   help: compile it for Target::interpreter() to see the index and the block
