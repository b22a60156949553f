//===- run-parallel-race.cpp - Bodies of `parallel` that write one element ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Count {
  static constexpr auto signature = "ids[N] -> H[B]";
  void operator()(Block &b, In<i32, 1> ids, Out<i32, 1> H) const {
    b.parallel(8, [&](Index i) {
      auto old = H.load(ids.load(i));
      b.store(H.at(ids.load(i)), old + 1);
    });
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<i32> ids = {0, 1, 2, 1, 4, 5, 6, 7}, H(8);
  auto kernel = compile(Count{}, Target::interpreter());
  kernel(view(ids, {8}), view(H, {8}));
}

// EXPECT: run-parallel-race.cpp:14: error PS1407: `load` reads `H` at [1] in body (3) of `parallel`, which body (1) writes
// EXPECT:    14 |       auto old = H.load(ids.load(i));
// EXPECT:       |                         ^
// EXPECT: run-parallel-race.cpp:15: note: body (1) writes it here
// EXPECT:    15 |       b.store(H.at(ids.load(i)), old + 1);
// EXPECT:       |       ^
// EXPECT:   help: bodies of `parallel` run in any order and at the same time; let each body access elements of its own, or use `b.atomic` for all accesses
// EXPECT: run-parallel-race.cpp:15: error PS1407: `store` writes `H` at [1] in body (3) of `parallel`, which body (1) writes
// EXPECT:    15 |       b.store(H.at(ids.load(i)), old + 1);
// EXPECT:       |       ^
// EXPECT: run-parallel-race.cpp:15: note: body (1) writes it here
// EXPECT:    15 |       b.store(H.at(ids.load(i)), old + 1);
// EXPECT:       |       ^
// EXPECT:   help: bodies of `parallel` run in any order and at the same time; let each body access elements of its own, or use `b.atomic` for all accesses
