//===- schedule-versions-on-hopper.cpp - Too deep for shared memory -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <penstock/inspect.h>

struct TooDeepForHopper {
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 9})) {
      b.copy(A.at(0, k * 64), As);
      b.copy(B.at(0, k * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(0, 0));
  }
};
PENSTOCK_KERNEL(TooDeepForHopper);

WRONG_PROGRAM {
  std::vector<Diagnostic> found;
  explain_registered("TooDeepForHopper", "sm_90a", {}, found);
  diagnostics::expectDiagnostics(found);
}

// EXPECT: schedule-versions-on-hopper.cpp:16: error PS1218: the versions of this loop need 288 KiB of shared memory; there are 227 KiB
// EXPECT:    16 |     for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 9})) {
// EXPECT:       |                    ^
// EXPECT: schedule-versions-on-hopper.cpp:13: note: `As` takes 9 x 16384
// EXPECT:    13 |     auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
// EXPECT:       |               ^
// EXPECT: schedule-versions-on-hopper.cpp:13: note: `Bs` takes 9 x 16384
// EXPECT:    13 |     auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
// EXPECT:       |                                            ^
// EXPECT:   help: num_stages = 7 is the largest that fits
