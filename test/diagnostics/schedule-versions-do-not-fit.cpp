//===- schedule-versions-do-not-fit.cpp - More stages than memory ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto x = b.shared<f32>(4096, 4096);
    for (Index i : b.pipelined(ceil_div(X.size(0), 4096), {.num_stages = 40})) {
      b.copy(X.at(i * 4096, 0), x);
      b.copy(x, Y.at(i * 4096, 0));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-versions-do-not-fit.cpp:13: error PS1218: the versions of this loop need 2621440 KiB of shared memory; there are 2097152 KiB
// EXPECT:    13 |     for (Index i : b.pipelined(ceil_div(X.size(0), 4096), {.num_stages = 40})) {
// EXPECT:       |                    ^
// EXPECT: schedule-versions-do-not-fit.cpp:12: note: `x` takes 40 x 67108864
// EXPECT:    12 |     auto x = b.shared<f32>(4096, 4096);
// EXPECT:       |              ^
// EXPECT:   help: num_stages = 32 is the largest that fits
