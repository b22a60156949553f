//===- copy-matrix.h - A right kernel, for wrong launches -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TEST_DIAGNOSTICS_COPY_MATRIX_H
#define PENSTOCK_TEST_DIAGNOSTICS_COPY_MATRIX_H

#include "expect.h"

namespace {

struct CopyMatrix {
  static constexpr auto signature = "X[M,N] -> Y[M,N]";

  void operator()(penstock::Block &b, penstock::In<float, 2> X, penstock::Out<float, 2> Y) const {
    auto [i, j] = b.grid(ceil_div(X.size(0), 16), ceil_div(X.size(1), 16));
    auto x = b.local<float>(16, 16);
    b.copy(X.at(i * 16, j * 16), x);
    b.copy(x, Y.at(i * 16, j * 16));
  }
};

} // namespace

#endif // PENSTOCK_TEST_DIAGNOSTICS_COPY_MATRIX_H
