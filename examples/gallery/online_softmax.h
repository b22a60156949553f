//===- online_softmax.h - Softmax of attention kernels ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_GALLERY_ONLINE_SOFTMAX_H
#define PENSTOCK_EXAMPLES_GALLERY_ONLINE_SOFTMAX_H

#include <penstock/penstock.h>

namespace gallery {
using namespace penstock;

/// Softmax over tiles of scores: rows are rescaled when a larger score appears.
struct OnlineSoftmax {
  Block &b;
  Scalar<f32> scale; // log2(e) / sqrt(D)
  Tile<f32, 1> top, old, rescale, sum, part;

  OnlineSoftmax(Block &b, Scalar<f32> scale, int rows)
      : b(b), scale(scale), top(b.local<f32>(rows)), old(b.local<f32>(rows)),
        rescale(b.local<f32>(rows)), sum(b.local<f32>(rows)), part(b.local<f32>(rows)) {
    b.fill(top, -infinity);
    b.fill(sum, 0);
  }
  /// Turns scores into weights. Every row must see a key of its first tile.
  void weigh(const Tile<f32, 2> &scores, const Tile<f16, 2> &weights, const Tile<f32, 2> &out) {
    b.copy(top, old);
    b.reduce(Max, scores, 1, top, {.accumulate = true});
    b.set(rescale, exp2((old - top) * scale));
    b.set(weights, exp2((scores - broadcast_rows(top)) * scale));
    b.reduce(Sum, weights, 1, part); // of the rounded weights, so that they add up to one
    b.set(sum, sum * rescale + part);
    b.set(out, out * broadcast_rows(rescale));
  }
  void normalize(const Tile<f32, 2> &out) {
    b.set(sum, where(sum > 0, 1 / sum, 0)); // one division for each row
    b.set(out, out * broadcast_rows(sum));
  }
};

} // namespace gallery

#endif // PENSTOCK_EXAMPLES_GALLERY_ONLINE_SOFTMAX_H
