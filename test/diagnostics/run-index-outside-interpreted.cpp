//===- run-index-outside-interpreted.cpp - A load outside, interpreted ----===//
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
  auto kernel = compile(Gather{}, Target::interpreter());
  kernel(view(table, {8}), view(ids, {4}), view(y, {4}));
}

// EXPECT: run-index-outside-interpreted.cpp:15: error PS1402: `load` at [8] is outside of `Table`: dimension 0 has size 8
// EXPECT:    15 |     b.store(Y.at(i), Table.load(Ids.load(i)));
// EXPECT:       |                                 ^ in block (2)
