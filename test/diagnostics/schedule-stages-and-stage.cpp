//===- schedule-stages-and-stage.cpp - A depth beside a stated schedule ---===//
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
    PipelineOptions schedule{.num_stages = 2, .stage = {0, 1}, .order = {0, 1}};
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), schedule)) {
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::native()); }

// EXPECT: schedule-stages-and-stage.cpp:14: error PS1214: `num_stages` cannot be combined with `stage` and `order`; the depth of a stated schedule is its largest stage + 1
// EXPECT:    14 |     for (Index i : b.pipelined(ceil_div(X.size(0), 64), schedule)) {
// EXPECT:       |                    ^
