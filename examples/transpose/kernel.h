//===- kernel.h - A transpose through shared memory -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_TRANSPOSE_KERNEL_H
#define PENSTOCK_EXAMPLES_TRANSPOSE_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

// Y = transpose of X. Rows of both are contiguous, so a thread that reads along a
// row of X would write down a column of Y. A tile in shared memory lies between:
// it is filled row by row and read column by column.
struct Transpose {
  int block_m = 64, block_n = 64;
  static constexpr auto signature = "X[M,N] -> Y[N,M]";

  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto [M, N] = X.sizes();
    auto [bn, bm] = b.grid(ceil_div(N, block_n), ceil_div(M, block_m));
    Index m0 = bm * block_m, n0 = bn * block_n;

    auto tile = b.shared<f32>(block_m, block_n);
    b.copy(X.at(m0, n0), tile);
    b.copy(transposed(tile), Y.at(n0, m0)); // clipped at both edges
  }

  static auto space() {
    return Space<Transpose>()
        .over(&Transpose::block_m, {16, 32, 64})
        .over(&Transpose::block_n, {16, 32, 64});
  }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_TRANSPOSE_KERNEL_H
