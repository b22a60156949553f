//===- unknown-field.cpp - A field that a kernel does not have ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <penstock/inspect.h>

namespace {
struct Doubled {
  int block = 256;
  static constexpr auto signature = "x[N] -> y[N]";

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), block)) * block;
    auto t = b.local<f32>(block);
    b.copy(x.at(first), t);
    b.set(t, t * 2);
    b.copy(t, y.at(first));
  }
};
PENSTOCK_KERNEL(Doubled, block);
} // namespace

WRONG_PROGRAM {
  InspectOptions options;
  options.set = {{"blocks", "128"}};
  std::vector<Diagnostic> diagnostics;
  compile_registered("Doubled", options, diagnostics);
  diagnostics::expectDiagnostics(diagnostics);
}

// EXPECT: unknown-field.cpp:24: error PS1006: `Doubled` has no field `blocks` that can be set from outside
// EXPECT:    24 | PENSTOCK_KERNEL(Doubled, block);
// EXPECT:       | ^
// EXPECT:   help: did you mean `block`?
