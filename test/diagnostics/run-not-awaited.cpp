//===- run-not-awaited.cpp - An asynchronous copy that nothing awaits -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Copy {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.shared<f32>(16);
    b.copy(X.at(0), x);
    b.copy(x, Y.at(0), {.async = "store"});
  }
};
} // namespace

WRONG_PROGRAM {
  std::vector<float> x(16), y(16);
  auto kernel = compile(Copy{}, Target::interpreter());
  kernel(view(x, {16}), view(y, {16}));
}

// EXPECT: run-not-awaited.cpp:14: error PS1409: the asynchronous `copy` "store" is not awaited before the block ends
// EXPECT:    14 |     b.copy(x, Y.at(0), {.async = "store"});
// EXPECT:       |     ^
// EXPECT:   help: add `b.wait("store")` after it; a wait with a lag leaves the last iterations under way
