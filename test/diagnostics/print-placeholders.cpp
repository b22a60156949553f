//===- print-placeholders.cpp - More values than placeholders -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X) const {
    auto i = b.grid(X.size(0));
    b.print("block {}", {i, X.load(i)});
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: print-placeholders.cpp:13: error PS1116: the text of `print` has 1 {}, and 2 values are given
// EXPECT:    13 |     b.print("block {}", {i, X.load(i)});
// EXPECT:       |     ^
// EXPECT:   help: write {} once for each value
