//===- wait-unknown-name.cpp - A wait for a copy that has another name ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.shared<f32>(64);
    b.copy(X.at(0), x, {.async = "load_x"});
    b.wait("load");
    b.copy(x, Y.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: wait-unknown-name.cpp:14: error PS1114: `wait` names `load`, but no asynchronous operation has that name
// EXPECT:    14 |     b.wait("load");
// EXPECT:       |     ^
// EXPECT:   help: give the copy or gemm {.async = "load"}
