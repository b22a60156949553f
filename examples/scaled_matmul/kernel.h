//===- kernel.h - C = A * B^T with a scale for each block of k --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_SCALED_MATMUL_KERNEL_H
#define PENSTOCK_EXAMPLES_SCALED_MATMUL_KERNEL_H

#include <penstock/penstock.h>

namespace examples {
using namespace penstock;

/// A product of T with scales of S in the blocked layout of cuBLAS and torch._scaled_mm: a tensor
/// of [rows / 128, K / (4 * block), 32, 16] bytes for each operand. On Blackwell the tensor core
/// applies them; other targets multiply in bf16.
template <class T, class S> struct ScaledMatmul {
  int block_m = 128, block_n = 128, block_k = 256, stages = 3; ///< block_k counts values
  static constexpr auto signature =
      "A[M,P], B[N,P], scale_A[I,J,32,16], scale_B[H,J,32,16] -> C[M,N]";
  static constexpr int values_per_element = std::is_same_v<T, f4e2m1x2> ? 2 : 1;
  static constexpr int block = std::is_same_v<S, f8e4m3> ? 16 : 32; ///< values that share a scale

  void operator()(Block &b, In<T, 2> A, In<T, 2> B, In<S, 4> scale_A, In<S, 4> scale_B,
                  Out<f32, 2> C) const {
    auto [M, P] = A.sizes();
    auto N = B.size(0);
    const int elements = block_k / values_per_element, groups = block_k / (4 * block);
    b.require(scale_A.size(0) * 128 >= M && scale_B.size(0) * 128 >= N &&
                  scale_A.size(1) * (4 * block) >= P * values_per_element,
              "there are scales for 128 rows and 4 blocks of k at a time");
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(8));
    auto As = b.shared<T>(block_m, elements);
    auto Bs = b.shared<T>(block_n, elements);
    auto SA = b.shared<S>(block_m / 128, groups, 32, 16);
    auto SB = b.shared<S>(block_n / 128, groups, 32, 16);
    auto acc = b.local<f32>(block_m, block_n);

    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(P, elements), {.num_stages = stages})) {
      b.copy(A.at(bm * block_m, k * elements), As);
      b.copy(B.at(bn * block_n, k * elements), Bs);
      b.copy(scale_A.at(bm * (block_m / 128), k * groups, 0, 0), SA);
      b.copy(scale_B.at(bn * (block_n / 128), k * groups, 0, 0), SB);
      b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n));
  }
};

/// f8 with a power of two for each 32 values, and 4-bit values with the same or with an f8 scale
/// for each 16.
struct MxF8Matmul : ScaledMatmul<f8e4m3, f8e8m0> {
  MxF8Matmul() { block_k = 128; }
};
struct MxF4Matmul : ScaledMatmul<f4e2m1x2, f8e8m0> {};
struct NvF4Matmul : ScaledMatmul<f4e2m1x2, f8e4m3> {};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_SCALED_MATMUL_KERNEL_H
