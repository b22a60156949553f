//===- kernel.h - C = A * B^T with a scale for each block of k --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXAMPLES_SCALED_MATMUL_KERNEL_H
#define PENSTOCK_EXAMPLES_SCALED_MATMUL_KERNEL_H

#include <penstock/tune.h>

namespace examples {
using namespace penstock;

/// Bits of a value of T.
template <class T>
inline constexpr int bits_of =
    std::is_same_v<T, f4e2m1x2>                                            ? 4
    : std::is_same_v<T, f6e2m3_packed> || std::is_same_v<T, f6e3m2_packed> ? 6
                                                                           : 8;

/// A product of T by U with scales of S in the blocked layout of cuBLAS and torch._scaled_mm: a
/// tensor of [rows / 128, K / (4 * block), 32, 16] bytes for each operand. On Blackwell the tensor
/// core applies them; other targets multiply in bf16.
template <class T, class S, class U = T> struct ScaledMatmul {
  int block_m = 128, block_n = 128, block_k = 256, stages = 3; ///< block_k counts values
  static constexpr auto signature =
      std::is_same_v<T, U> ? "A[M,P], B[N,P], scale_A[I,J,32,16], scale_B[H,J,32,16] -> C[M,N]"
                           : "A[M,P], B[N,Q], scale_A[I,J,32,16], scale_B[H,J,32,16] -> C[M,N]";
  static constexpr int block = std::is_same_v<S, f8e4m3> ? 16 : 32; ///< values that share a scale

  void operator()(Block &b, In<T, 2> A, In<U, 2> B, In<S, 4> scale_A, In<S, 4> scale_B,
                  Out<f32, 2> C) const {
    auto [M, P] = A.sizes();
    auto [N, Q] = B.sizes();
    const int in_a = block_k * bits_of<T> / 8, in_b = block_k * bits_of<U> / 8; // bytes
    const int groups = block_k / (4 * block);
    b.require(P * bits_of<U> == Q * bits_of<T>, "rows of A and B have the same number of values");
    b.require(scale_A.size(0) * 128 >= M && scale_B.size(0) * 128 >= N &&
                  scale_A.size(1) * (4 * block * bits_of<T>) >= P * 8,
              "there are scales for 128 rows and 4 blocks of k at a time");
    auto [bm, bn] = b.grid(ceil_div(M, block_m), ceil_div(N, block_n), swizzled(8));
    auto As = b.shared<T>(block_m, in_a);
    auto Bs = b.shared<U>(block_n, in_b);
    auto SA = b.shared<S>(block_m / 128, groups, 32, 16);
    auto SB = b.shared<S>(block_n / 128, groups, 32, 16);
    auto acc = b.local<f32>(block_m, block_n);

    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(P, in_a), {.num_stages = stages})) {
      b.copy(A.at(bm * block_m, k * in_a), As);
      b.copy(B.at(bn * block_n, k * in_b), Bs);
      b.copy(scale_A.at(bm * (block_m / 128), k * groups, 0, 0), SA);
      b.copy(scale_B.at(bn * (block_n / 128), k * groups, 0, 0), SB);
      b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
    }
    b.copy(acc, C.at(bm * block_m, bn * block_n));
  }

  static auto space() {
    using K = ScaledMatmul;
    return Space<K>().over(&K::block_n, {128, 256}).over(&K::stages, {2, 3});
  }
};

/// f8 with a power of two for each 32 values, 4-bit values with the same or with an f8 scale for
/// each 16, and 6-bit values. Values of different widths can be multiplied with each other.
struct MxF8Matmul : ScaledMatmul<f8e4m3, f8e8m0> {
  MxF8Matmul() { block_k = 128; }
};
struct MxF4Matmul : ScaledMatmul<f4e2m1x2, f8e8m0> {};
struct NvF4Matmul : ScaledMatmul<f4e2m1x2, f8e4m3> {};
struct MxF6Matmul : ScaledMatmul<f6e2m3_packed, f8e8m0, f6e3m2_packed> {
  MxF6Matmul() { block_k = 128; }
};

} // namespace examples

#endif // PENSTOCK_EXAMPLES_SCALED_MATMUL_KERNEL_H
