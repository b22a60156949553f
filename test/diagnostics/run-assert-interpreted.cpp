//===- run-assert-interpreted.cpp - An assertion fails, interpreted -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Check {
  void operator()(Block &b, In<i32, 1> X) const {
    auto i = b.grid(X.size(0));
    b.require(X.load(i) < 3, "an index of the table");
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<i32> x = {0, 1, 2, 3};
  auto kernel = compile(Check{}, Target::interpreter());
  kernel(view(x, {4}));
}

// EXPECT: run-assert-interpreted.cpp:13: error PS1401: assertion failed: an index of the table
// EXPECT:    13 |     b.require(X.load(i) < 3, "an index of the table");
// EXPECT:       |     ^ in block (3)
