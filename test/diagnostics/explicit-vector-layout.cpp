//===- explicit-vector-layout.cpp - A vector without a register layout ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Row {
  void operator()(Block &b, Out<f32, 2> C) const {
    b.threads(128);
    auto t = b.local<f32>(128, 32);
    auto v = b.local<f32>(128);
    b.fill(t, 1);
    b.reduce(Sum, t, 1, v);
    b.copy(t, C.at(0, 0));
  }
};
} // namespace

WRONG_PROGRAM { compile(Row{}, Target::sm_100a()); }

// EXPECT: explicit-vector-layout.cpp:14: error PS1606: `v` (128 f32, local) is used with no tile that says which thread holds which row
// EXPECT:    14 |     auto v = b.local<f32>(128);
// EXPECT:       |              ^
