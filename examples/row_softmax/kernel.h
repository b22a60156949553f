//===- kernel.h - Softmax of each row ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shows loops, reductions along a dimension, broadcasting one value to a row,
// and what to read outside of a tensor.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_ROW_SOFTMAX_KERNEL_H
#define PENSTOCK_EXAMPLES_ROW_SOFTMAX_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

struct RowSoftmax {
  int block_m = 16, block_n = 128;
  static constexpr auto signature = "X[M,N] -> Y[M,N]";

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto [M, N] = X.sizes();
    Index m0 = b.grid(ceil_div(M, block_m)) * block_m;

    auto x = b.local<f32>(block_m, block_n);
    auto top = b.local<f32>(block_m); // the largest element of each row so far
    auto old = b.local<f32>(block_m);
    auto sum = b.local<f32>(block_m); // the sum of exp(x - top) so far
    auto part = b.local<f32>(block_m);

    // A row may be longer than any tile, so it is read piece by piece. When a
    // piece brings a new largest element, the sum so far is scaled to it; that
    // saves a pass over the row which would only look for the largest.
    //
    // The start is the lowest finite number and not -infinity: a row that
    // begins with a piece of -infinity would compute infinity - infinity.
    b.fill(top, std::numeric_limits<float>::lowest());
    b.fill(sum, 0);
    for (Index n : b.range(ceil_div(N, block_n))) {
      // Outside of the tensor we want elements that add nothing: exp gives 0.
      b.copy(X.at(m0, n * block_n), x, {.fill = -infinity});
      b.copy(top, old);
      b.reduce(Max, x, 1, top, {.accumulate = true});
      b.set(x, exp(x - broadcast_rows(top))); // broadcast_rows(): the same value along each row
      b.reduce(Sum, x, 1, part);
      b.set(sum, sum * exp(old - top) + part);
    }

    // One quotient for each row: a division by broadcast_rows(sum) below would take one for
    // each element, several instructions that each round once.
    b.set(sum, 1 / sum);
    for (Index n : b.range(ceil_div(N, block_n))) {
      b.copy(X.at(m0, n * block_n), x);
      b.set(x, exp(x - broadcast_rows(top)) * broadcast_rows(sum));
      b.copy(x, Y.at(m0, n * block_n)); // clipped at both edges
    }
  }

  // One row or a few for each thread of a warp, and pieces that stay in registers.
  static auto space() {
    return Space<RowSoftmax>()
        .over(&RowSoftmax::block_m, {4, 8, 16, 32})
        .over(&RowSoftmax::block_n, {64, 128, 256})
        .classes("M:log2, N:log2");
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_ROW_SOFTMAX_KERNEL_H
