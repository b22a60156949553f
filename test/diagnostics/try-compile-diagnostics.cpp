//===- try-compile-diagnostics.cpp - Errors without exceptions ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(64);
    b.copy(X.at(0), x);
    b.store(Y.at(0), b.load(x, -1));
  }
};
} // namespace

WRONG_PROGRAM {
  auto result = try_compile(Program{}, Target::native());
  if (!result)
    diagnostics::expectDiagnostics(result.diagnostics);
}

// EXPECT: try-compile-diagnostics.cpp:14: error PS1107: index -1 of dimension 0 lies outside of `x` (64 f32, local)
// EXPECT:    14 |     b.store(Y.at(0), b.load(x, -1));
// EXPECT:       |                      ^
// EXPECT:   help: indices are counted from 0
