//===- ModelKernels.h - Kernels that the model of CPUs is held to -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// benchmarks/native/model.cpp measures them, unittests/Timing/NativeTest.cpp predicts them.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_MODELKERNELS_H
#define PENSTOCK_BENCHMARKS_MODELKERNELS_H

#include <penstock/penstock.h>

namespace model {

using namespace penstock;

template <class T, class S> struct Product {
  int block_m = 128, block_n = 128, block_k = 64;
  static constexpr auto signature = "A[M,K], B[K,N] -> C[M,N]";

  void operator()(Block &b, In<T, 2> A, In<T, 2> B, Out<S, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(1);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto As = b.shared<T>(block_m, block_k);
    auto Bs = b.shared<T>(block_k, block_n);
    auto acc = b.local<S>(block_m, block_n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(K, block_k))) {
      b.copy(A.at(bm * block_m, ko * block_k), As);
      b.copy(B.at(ko * block_k, bn * block_n), Bs);
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n));
  }
};

struct MatmulF32 : Product<f32, f32> {};
struct MatmulBf16 : Product<bf16, f32> {};
struct MatmulI8 : Product<i8, i32> {};

/// The second operand is transposed, the result f16.
struct MatmulF16 {
  int block_m = 128, block_n = 128, block_k = 64;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n));
    auto As = b.shared<f16>(block_m, block_k);
    auto Bs = b.shared<f16>(block_n, block_k);
    auto acc = b.local<f32>(block_m, block_n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(K, block_k))) {
      b.copy(A.at(bm * block_m, ko * block_k), As);
      b.copy(B.at(bn * block_n, ko * block_k), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n));
  }
};

struct Softmax {
  int rows = 4, columns = 1024;
  static constexpr auto signature = "x[R,C] -> y[R,C]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto first = b.grid(ceil_div(x.size(0), rows)) * rows;
    auto t = b.local<f32>(rows, columns);
    auto top = b.local<f32>(rows), sum = b.local<f32>(rows);
    b.copy(x.at(first, 0), t, {.fill = -infinity});
    b.reduce(Max, t, 1, top);
    b.set(t, exp(t - broadcast_rows(top)));
    b.reduce(Sum, t, 1, sum);
    b.set(t, t / broadcast_rows(sum));
    b.copy(t, y.at(first, 0));
  }
};

struct Attention {
  int block_m = 64, block_n = 128, dim = 64;
  static constexpr auto signature = "Q[H,M,D], K[H,N,D], V[H,N,D] -> O[H,M,D]";

  void operator()(Block &b, In<f32, 3> Q, In<f32, 3> K, In<f32, 3> V, Out<f32, 3> O) const {
    auto [m, head] = b.grid(ceil_div(Q.size(1), block_m), Q.size(0));
    auto m0 = m * block_m;
    auto keys = K.size(1);
    auto Qs = b.shared<f32>(block_m, dim);
    auto Ks = b.shared<f32>(block_n, dim), Vs = b.shared<f32>(block_n, dim);
    auto S = b.local<f32>(block_m, block_n), out = b.local<f32>(block_m, dim);
    auto top = b.local<f32>(block_m), old = b.local<f32>(block_m), sum = b.local<f32>(block_m);
    auto part = b.local<f32>(block_m), rescale = b.local<f32>(block_m);
    b.copy(Q.at(head, m0, 0), Qs);
    b.set(Qs, Qs * 0.125f);
    b.fill(top, -infinity);
    b.fill(sum, 0);
    b.fill(out, 0);
    for (Index n : b.range(ceil_div(keys, block_n))) {
      auto n0 = n * block_n;
      b.copy(K.at(head, n0, 0), Ks);
      b.copy(V.at(head, n0, 0), Vs);
      b.gemm(Qs, transposed(Ks), S, {.accumulate = false});
      b.when(n0 + block_n > keys, [&] { b.set(S, where(col(S) + n0 < keys, S, -infinity)); });
      b.copy(top, old);
      b.reduce(Max, S, 1, top, {.accumulate = true});
      b.set(rescale, exp(old - top));
      b.set(S, exp(S - broadcast_rows(top)));
      b.reduce(Sum, S, 1, part);
      b.set(sum, sum * rescale + part);
      b.set(out, out * broadcast_rows(rescale));
      b.gemm(S, Vs, out);
    }
    b.set(out, out / broadcast_rows(sum));
    b.copy(out, O.at(head, m0, 0));
  }
};

PENSTOCK_KERNEL(MatmulF32, block_m, block_n, block_k);
PENSTOCK_KERNEL(MatmulBf16, block_m, block_n, block_k);
PENSTOCK_KERNEL(MatmulI8, block_m, block_n, block_k);
PENSTOCK_KERNEL(MatmulF16, block_m, block_n, block_k);
PENSTOCK_KERNEL(Softmax, rows, columns);
PENSTOCK_KERNEL(Attention, block_m, block_n, dim);

} // namespace model

#endif // PENSTOCK_BENCHMARKS_MODELKERNELS_H
