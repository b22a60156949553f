//===- kernel.h - A matmul that the compiler pipelines ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program of one block, without a word on threads: the same source runs on
// the CPU and, divided into roles around a ring of slots, on Hopper and
// Blackwell.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_MATMUL_KERNEL_H
#define EXAMPLES_MATMUL_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

template <class T> struct MatmulOf {
  int block_m = 128, block_n = 128, block_k = 64, group = 8, cluster_m = 1, cluster_n = 1, pair = 0;
  bool launch_control = false; // blocks take over others that have not started
  PipelineOptions pipeline = {.num_stages = 3};
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<T, 2> A, In<T, 2> B, Out<T, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(group));
    b.prefer({.cluster = {cluster_m, cluster_n}, // of blocks that share copies
              .pair = pair != 0,
              .launch_control = launch_control});
    auto As = b.template shared<T>(block_m, block_k);
    auto Bs = b.template shared<T>(block_n, block_k);
    auto acc = b.template local<f32>(block_m, block_n);

    b.fill(acc, 0);
    for (Index ko : b.pipelined(ceil_div(K, block_k), pipeline)) {
      b.copy(A.at(bm * block_m, ko * block_k), As);
      b.copy(B.at(bn * block_n, ko * block_k), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n)); // rounds, and clips at the edge
  }

  static auto space() {
    using K = MatmulOf;
    return Space<K>()
        .over(&K::block_m, {64, 128, 256})
        .over(&K::block_n, {64, 128, 256})
        .over(&K::block_k, {64, 128})
        .over([](K &k) -> auto & { return k.pipeline.num_stages; }, {2, 3, 4})
        .where([](const K &k) { return k.block_m < 256 || k.block_n < 256; })
        .classes("M:log2, N, K");
  }
  static constexpr auto flops = "2*M*N*K"; // for `penstock bench`
};
using Matmul = MatmulOf<f16>;

} // namespace examples

#endif // EXAMPLES_MATMUL_KERNEL_H
