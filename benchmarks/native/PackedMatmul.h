//===- PackedMatmul.h - A product with packed weights -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_PACKEDMATMUL_H
#define PENSTOCK_BENCHMARKS_NATIVE_PACKEDMATMUL_H

#include "Blocks.h"

namespace bench {
using namespace penstock;

template <class T, class S> struct PackedMatmul {
  Blocks block;

  void operator()(Block &b, In<T, 2> A, In<T, 4> B, Out<S, 2> C) const {
    constexpr int group = 4 / int(sizeof(T));
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, block.m), ceil_div(C.size(1), block.n));
    auto As = b.shared<T>(block.m, block.k);
    auto Bs = packed_tile<T>(b, block.k, block.n);
    auto acc = b.local<S>(block.m, block.n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(K, block.k))) {
      b.copy(A.at(bm * block.m, ko * block.k), As);
      b.copy(B.at(bn * (block.n / 16), ko * (block.k / group), 0, 0), Bs);
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(bm * block.m, bn * block.n));
  }
};

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_PACKEDMATMUL_H
