//===- explicit-mma-shape.cpp - An accumulator of 96 rows -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

namespace {
struct Product {
  void operator()(Block &b) const {
    b.threads(128);
    auto As = b.shared<f16>(96, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.tcgen05.alloc<f32>(96, 64);
    b.warp(0, [&] { b.tcgen05.mma(As, Bs, acc); });
    b.tcgen05.dealloc(acc);
  }
};
} // namespace

WRONG_PROGRAM { compile(Product{}, Target::sm_100a()); }

// EXPECT: explicit-mma-shape.cpp:14: error PS1602: `acc` (96x64 f32, tensor) does not fit tensor memory
// EXPECT:    14 |     auto acc = b.tcgen05.alloc<f32>(96, 64);
// EXPECT:       |                ^
// EXPECT:   help: accumulators have 64, 128, 192 or 256 rows of 32-bit elements, left operands 128 or 256 rows of 16- or 32-bit ones
