//===- DeepGemmBf16.cu - DeepGEMM: bf16 products for Hopper, Blackwell ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CLUSTER blocks share B: by multicast on Hopper, as a pair on Blackwell.
//
//===----------------------------------------------------------------------===//
#ifdef BLACKWELL
#include <deep_gemm/impls/sm100_bf16_gemm.cuh>
#else
#include <deep_gemm/impls/sm90_bf16_gemm.cuh>
#endif

#include "Host.h"

using namespace deep_gemm;

int main(int count, char **values) {
  constexpr int block = 128, step = 64, stages = 4, blocks = 4;
  int M = field::argument(count, values, 1, 512), N = field::argument(count, values, 2, 256);
  int K = field::argument(count, values, 3, 512);
  auto a = field::randomValues<__nv_bfloat16>(size_t(M) * K, 1);
  auto b = field::randomValues<__nv_bfloat16>(size_t(N) * K, 2);
  auto *d = field::allocate<__nv_bfloat16>(size_t(M) * N);
  auto map = [](const void *memory, int columns, int rows, int boxColumns, int boxRows) {
    CUtensorMap made = field::tensorMap(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, memory, columns, rows,
                                        boxColumns, boxRows, true);
    return *reinterpret_cast<cute::TmaDescriptor *>(&made);
  };
  constexpr auto major = cute::UMMA::Major::K;
#ifdef BLACKWELL
  constexpr int threads = 256, boxOfB = block / CLUSTER, boxOfD = block;
  auto kernel = &sm100_bf16_gemm_impl<major, major, 0, 0, 0, block, block, step, 1, 128, 128, 128,
                                      stages, 128, 128, CLUSTER, false, blocks, 128, false, false,
                                      GemmType::Normal, false, cutlass::bfloat16_t, 100>;
  int shared = block * block * 2 + stages * (block + boxOfB) * step * 2 + 3 * 8 * 32 + 48;
#else
  constexpr int threads = 384, boxOfB = block, boxOfD = block;
  auto kernel = &sm90_bf16_gemm_impl<major, major, 0, 0, 0, 1, block, block, step, 128, 128, 128,
                                     stages, 128, 256, CLUSTER, false, blocks, GemmType::Normal,
                                     false, cutlass::bfloat16_t>;
  int shared = block * block * 2 + stages * 2 * block * step * 2 + 2 * 8 * 32;
#endif
  field::launch(kernel, blocks, threads, shared, CLUSTER, (int *)nullptr, uint32_t(M), uint32_t(N),
                uint32_t(K), map(field::upload(a), K, M, step, block),
                map(field::upload(b), K, N, step, boxOfB), map(d, N, M, block, boxOfD));
  return field::verifyMatmul(
      a, [&](int k, int n) { return b[size_t(n) * K + k]; }, field::download(d, size_t(M) * N), M,
      N, K);
}
