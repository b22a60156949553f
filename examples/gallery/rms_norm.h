//===- rms_norm.h - y = x / rms(x) * weight ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_RMS_NORM_H
#define PENSTOCK_EXAMPLES_GALLERY_RMS_NORM_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// Normalizes rows by their root mean square.
struct RmsNorm {
  int rows = 4, columns = 256;
  static constexpr auto signature = "x[R,C], weight[C], eps -> y[R,C]";

  void operator()(Block &b, In<f16, 2> x, In<f16, 1> weight, Scalar<f32> eps, Out<f16, 2> y) const {
    auto [R, C] = x.sizes();
    Index first = b.grid(ceil_div(R, rows)) * rows;
    auto t = b.local<f32>(rows, columns);
    auto w = b.local<f32>(columns);
    auto scale = b.local<f32>(rows);

    b.fill(scale, 0);
    for (Index c : b.range(ceil_div(C, columns))) {
      b.copy(x.at(first, c * columns), t); // zeros outside of x add nothing
      b.set(t, t * t);
      b.reduce(Sum, t, 1, scale, {.accumulate = true});
    }
    b.set(scale, rsqrt(scale / cast<f32>(C) + eps));
    for (Index c : b.range(ceil_div(C, columns))) {
      b.copy(x.at(first, c * columns), t);
      b.copy(weight.at(c * columns), w);
      b.set(t, t * broadcast_rows(scale) * broadcast_cols(w));
      b.copy(t, y.at(first, c * columns));
    }
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_RMS_NORM_H
