//===- FlopsKernels.cpp - Kernels that state their FLOPs ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

using namespace penstock;

namespace {

struct Stated {
  static constexpr auto signature = "x[N] -> y[N]";
  static constexpr auto flops = "2*N + 8";

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), 64)) * 64;
    auto t = b.local<f32>(64);
    b.copy(x.at(first), t);
    b.set(t, t * 2.0f + 1.0f);
    b.copy(t, y.at(first));
  }
};

/// No size is called J.
struct Misstated : Stated {
  static constexpr auto flops = "2*N*J";
};

PENSTOCK_KERNEL(Stated);
PENSTOCK_KERNEL(Misstated);

} // namespace
