//===- unroll-run-time-step.cpp - Unrolling by a step of the launch -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Program {
  void operator()(Block &b, Index step, Out<f32, 1> Y) const {
    for (Index i : b.range(0, Y.size(0), step, {.unroll = 4}))
      b.store(Y.at(i), 1);
  }
};
} // namespace

WRONG_PROGRAM {
  diagnostics::expectDiagnostics(try_compile(Program{}, Target::native()).diagnostics);
}

// EXPECT: unroll-run-time-step.cpp:12: warning PS1113: this loop is not unrolled, because its step is only known when the kernel runs
// EXPECT:    12 |     for (Index i : b.range(0, Y.size(0), step, {.unroll = 4}))
// EXPECT:       |                    ^
// EXPECT:   help: count iterations with a step of 1, and multiply by the step in the body
