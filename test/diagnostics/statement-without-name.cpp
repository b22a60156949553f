//===- statement-without-name.cpp - A statement needs a name --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, InOut<f32, 1> X) const {
    auto x = b.local<f32>(64);
    b.copy(X.at(0), x);
    b.statement("", [&] { b.set(x, x + 1); });
    b.copy(x, X.at(0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: statement-without-name.cpp:14: error PS0106: a statement needs a name
// EXPECT:    14 |     b.statement("", [&] { b.set(x, x + 1); });
// EXPECT:       |     ^
// EXPECT:   help: the name identifies it in schedules and messages, as in b.statement("softmax", ..)
