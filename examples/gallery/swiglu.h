//===- swiglu.h - y = gate * sigmoid(gate) * up -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_SWIGLU_H
#define PENSTOCK_EXAMPLES_GALLERY_SWIGLU_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// The gate of a feed-forward layer.
struct SwiGlu {
  int rows = 4, columns = 256;
  static constexpr auto signature = "gate[R,C], up[R,C] -> y[R,C]";

  void operator()(Block &b, In<f16, 2> gate, In<f16, 2> up, Out<f16, 2> y) const {
    auto [R, C] = gate.sizes();
    auto [r, c] = b.grid(ceil_div(R, rows), ceil_div(C, columns));
    auto g = b.local<f32>(rows, columns);
    auto u = b.local<f32>(rows, columns);
    b.copy(gate.at(r * rows, c * columns), g);
    b.copy(up.at(r * rows, c * columns), u);
    b.set(g, g / (1.0f + exp(0.0f - g)) * u);
    b.copy(g, y.at(r * rows, c * columns));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_SWIGLU_H
