//===- Kernels.h - Small kernels for tests of launches ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_GPU_KERNELS_H
#define PENSTOCK_UNITTESTS_GPU_KERNELS_H

#include <penstock/gpu.h>
#include <penstock/penstock.h>

namespace penstock::test {

/// y = x * factor + y
struct Accumulate {
  int block = 32;
  static constexpr auto signature = "x[N], factor -> y[N]";

  void operator()(Block &b, In<i32, 1> x, Scalar<i32> factor, InOut<i32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), block)) * block;
    auto xs = b.local<i32>(block), ys = b.local<i32>(block);
    b.copy(x.at(first), xs);
    b.copy(y.at(first), ys);
    b.set(ys, xs * factor + ys);
    b.copy(ys, y.at(first));
  }
};

/// z = x / y, which faults where y is 0.
struct Divided {
  static constexpr auto signature = "x[N], y[N] -> z[N]";

  void operator()(Block &b, In<i32, 1> x, In<i32, 1> y, Out<i32, 1> z) const {
    auto first = b.grid(ceil_div(x.size(0), 32)) * 32;
    auto s = b.local<i32>(32), t = b.local<i32>(32);
    b.copy(x.at(first), s);
    b.copy(y.at(first), t, {.fill = 1});
    b.set(s, s / t);
    b.copy(s, z.at(first));
  }
};

/// Plain matmul; TMA copies its tensors if their rows permit it.
struct Product {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, 64), ceil_div(N, 64));
    auto As = b.shared<f16>(64, 64), Bs = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(64, 64);
    b.fill(acc, 0);
    for (Index ko : b.pipelined(ceil_div(K, 64), {.num_stages = 2})) {
      b.copy(A.at(bm * 64, ko * 64), As);
      b.copy(B.at(bn * 64, ko * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 64, bn * 64));
  }
};

/// y = x + 1. The next kernel may start at once.
struct Produce {
  static constexpr auto signature = "x[M,N] -> y[M,N]";

  void operator()(Block &b, In<f16, 2> x, Out<f16, 2> y) const {
    auto [bm, bn] = b.grid(ceil_div(x.size(0), 32), ceil_div(x.size(1), 32));
    auto t = b.local<f16>(32, 32);
    b.launch_dependents();
    b.copy(x.at(bm * 32, bn * 32), t);
    b.set(t, t + 1.0f);
    b.copy(t, y.at(bm * 32, bn * 32));
  }
};

enum class WaitAt { Start, End, Never };

/// z = 2 * y
struct Consume {
  WaitAt wait = WaitAt::Start;
  static constexpr auto signature = "y[M,N] -> z[M,N]";

  void operator()(Block &b, In<f16, 2> y, Out<f16, 2> z) const {
    auto [bm, bn] = b.grid(ceil_div(y.size(0), 32), ceil_div(y.size(1), 32));
    auto t = b.local<f16>(32, 32);
    if (wait == WaitAt::Start)
      b.wait_for_previous();
    b.launch_dependents();
    b.copy(y.at(bm * 32, bn * 32), t);
    b.set(t, t * 2.0f);
    b.copy(t, z.at(bm * 32, bn * 32));
    if (wait == WaitAt::End)
      b.wait_for_previous();
  }
};

} // namespace penstock::test

#endif // PENSTOCK_UNITTESTS_GPU_KERNELS_H
