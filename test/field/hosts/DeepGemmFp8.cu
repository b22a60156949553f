//===- DeepGemmFp8.cu - DeepGEMM: the fp8 product with scales for Hopper --===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales of A are per row and 128 columns, those of B per block of 128 x 128. CLUSTER
// blocks share B by multicast.
//
//===----------------------------------------------------------------------===//
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

#include "Host.h"

using namespace deep_gemm;

int main(int count, char **values) {
  constexpr int block = 128, stages = 5, blocks = 4;
  int M = field::argument(count, values, 1, 512), N = field::argument(count, values, 2, 512);
  int K = field::argument(count, values, 3, 1024), steps = K / block;
  auto a = field::randomValues<__nv_fp8_e4m3>(size_t(M) * K, 1);
  auto b = field::randomValues<__nv_fp8_e4m3>(size_t(N) * K, 2);
  auto scaleA = field::randomValues<float>(size_t(steps) * M, 3);
  auto scaleB = field::randomValues<float>(size_t(N / block) * steps, 4);
  auto *d = field::allocate<__nv_bfloat16>(size_t(M) * N);
  auto map = [](CUtensorMapDataType type, int bytes, const void *memory, int columns, int rows,
                int boxRows, bool swizzled) {
    CUtensorMap made =
        field::tensorMap(type, bytes, memory, columns, rows, block, boxRows, swizzled);
    return *reinterpret_cast<cute::TmaDescriptor *>(&made);
  };
  auto kernel =
      &sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::K, 0, 0, 0, 1, block, block, block, 128, 128, 128,
                               stages, 128, 256, CLUSTER, false, blocks, GemmType::Normal,
                               cutlass::bfloat16_t, epilogue::transform::EpilogueIdentity>;
  int stage = 2 * block * block + block * 4;
  int shared = block * block * 2 + stages * stage + (steps * 4 + 7) / 8 * 8 + 2 * 8 * 32;
  field::launch(kernel, blocks, 384, shared, CLUSTER, field::upload(scaleB), (int *)nullptr,
                uint32_t(M), uint32_t(N), uint32_t(K),
                map(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, field::upload(a), K, M, block, true),
                map(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, field::upload(b), K, N, block, true),
                map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, d, N, M, block, true),
                map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, field::upload(scaleA), M, steps, 1, false));
  auto result = field::download(d, size_t(M) * N);
  field::Verdict verdict(0.02);
  for (int m = 0; m < M; m += 3)
    for (int n = 0; n < N; n += 7) {
      double sum = 0;
      for (int s = 0; s < steps; ++s) {
        double part = 0;
        for (int k = s * block; k < (s + 1) * block; ++k)
          part += double(float(a[size_t(m) * K + k])) * double(float(b[size_t(n) * K + k]));
        sum += part * scaleA[size_t(s) * M + m] * scaleB[size_t(n / block) * steps + s];
      }
      verdict.compare(double(float(result[size_t(m) * N + n])), sum);
    }
  return verdict.finish();
}
