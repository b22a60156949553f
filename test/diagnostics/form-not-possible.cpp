//===- form-not-possible.cpp - A stated form that a loop cannot have ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, In<f32, 1> X, Out<f32, 1> Y) const {
    auto x = b.local<f32>(64); // in registers, which only the threads that hold them fill
    PipelineOptions options{.num_stages = 2, .form = Form::WarpSpecialized};
    for (Index i : b.pipelined(ceil_div(X.size(0), 64), options)) {
      b.copy(X.at(i * 64), x);
      b.copy(x, Y.at(i * 64));
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Program{}, Target::sm_90a().emulated()); }

// EXPECT: form-not-possible.cpp:14: error PS1618: the loop cannot be warp-specialized: nothing in the loop is copied by TMA or cp.async, or multiplied by tcgen05
// EXPECT:    14 |     for (Index i : b.pipelined(ceil_div(X.size(0), 64), options)) {
// EXPECT:       |                    ^
// EXPECT:   help: leave `.form` out: one group of warps executes it then
