//===- update-of-a-variable.cpp - The line of `offset += 128` -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Advance {
  static constexpr auto signature = "A[N] -> B[N]";
  void operator()(Block &b, In<f32, 1> A, Out<f32, 1> B) const {
    auto As = b.shared<f32>(128);
    Var<int64_t> offset(b, 0);
    auto steps = ceil_div(A.size(0), 128);
    for (Index k : b.pipelined(steps, {.stage = {0, 0, 1, 1, 1}, .order = {0, 1, 2, 3, 4}})) {
      b.copy(A.at(offset), As);
      b.copy(As, B.at(k * 128));
      offset += 128;
    }
  }
};
} // namespace

WRONG_PROGRAM { compile(Advance{}, Target::native()); }

// EXPECT: update-of-a-variable.cpp:17: error PS1201: this schedule lets `load offset` read `offset` before `store offset` has written it
// EXPECT:    17 |       b.copy(A.at(offset), As);
// EXPECT:       |                   ^ reads offset for iteration k+1 at stage 0, order 0
// EXPECT: update-of-a-variable.cpp:19: note: still writing offset for iteration k
// EXPECT:    19 |       offset += 128;
// EXPECT:       |                 ^ at stage 1, order 4
// EXPECT:   help: give `load offset` stage 1 or later, or order it after `store offset`
// EXPECT:   help: `offset` has one version: it is a mutable scalar
