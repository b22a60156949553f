//===- Host.h - Parts of all host programs ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each program takes its sizes from the command line, launches one kernel of another
// project once, and compares samples of the result with double precision on the host.
// It prints `verified` and returns 0, or prints the error and returns 1.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FIELD_HOST_H
#define PENSTOCK_FIELD_HOST_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <random>
#include <vector>

namespace field {

inline void require(int result, const char *what) {
  if (result) {
    std::printf("%s: error %d\n", what, result);
    std::exit(1);
  }
}

inline int argument(int count, char **values, int index, int otherwise) {
  return index < count ? std::atoi(values[index]) : otherwise;
}

/// Multiples of 1/8 in [-1, 1], exact in fp8.
template <class T> std::vector<T> randomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(float(int(random() % 17) - 8) / 8);
  return values;
}

/// Device memory for \p count elements, not initialized.
template <class T> T *allocate(size_t count) {
  void *memory = nullptr;
  require(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  return static_cast<T *>(memory);
}

template <class T> T *upload(const std::vector<T> &values) {
  T *memory = allocate<T>(values.size());
  require(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
          "cudaMemcpy");
  return memory;
}

template <class T> std::vector<T> download(const T *memory, size_t count) {
  require(cudaDeviceSynchronize(), "kernel");
  std::vector<T> values(count);
  require(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
  return values;
}

/// Compares values with a reference; the exit code of the program.
class Verdict {
public:
  explicit Verdict(double tolerance) : tolerance(tolerance) {}
  void compare(double value, double reference) {
    double error = std::fabs(value - reference) / (1 + std::fabs(reference));
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
    ++count;
  }
  int finish() const {
    bool right = count > 0 && worst <= tolerance;
    std::printf("%s: %zu values, largest error %g\n", right ? "verified" : "wrong", count, worst);
    return right ? 0 : 1;
  }

private:
  double tolerance, worst = 0;
  size_t count = 0;
};

/// Samples of C[M, N] = A[M, K] B, where element (k, n) of B is `b(k, n)`.
template <class T, class D, class Element>
int verifyMatmul(const std::vector<T> &a, Element b, const std::vector<D> &c, int M, int N, int K) {
  Verdict verdict(0.02);
  for (int m = 0; m < M; m += 3)
    for (int n = 0; n < N; n += 7) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += double(float(a[size_t(m) * K + k])) * double(float(b(k, n)));
      verdict.compare(double(float(c[size_t(m) * N + n])), sum);
    }
  return verdict.finish();
}

/// A tensor map of a row-major matrix, swizzled by 128 bytes or not at all.
inline CUtensorMap tensorMap(CUtensorMapDataType type, int elementBytes, const void *memory,
                             uint64_t columns, uint64_t rows, uint32_t boxColumns, uint32_t boxRows,
                             bool swizzled) {
  CUtensorMap map;
  cuuint64_t sizes[] = {columns, rows}, strides[] = {columns * elementBytes};
  cuuint32_t box[] = {swizzled ? std::min(boxColumns, uint32_t(128 / elementBytes)) : boxColumns,
                      boxRows};
  cuuint32_t steps[] = {1, 1};
  require(cuTensorMapEncodeTiled(&map, type, 2, const_cast<void *>(memory), sizes, strides, box,
                                 steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "cuTensorMapEncodeTiled");
  return map;
}

/// Launches a kernel in clusters of \p cluster blocks.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), int blocks, int threads, int shared, int cluster,
            Arguments... arguments) {
  require(cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
          "cudaFuncSetAttribute");
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, kernel, arguments...), "cudaLaunchKernelEx");
}

/// Samples of softmax(Q K^T / sqrt(D)) V; element (position, head, d) is at `at`.
template <class T, class Index>
int verifyAttention(const std::vector<T> &q, const std::vector<T> &k, const std::vector<T> &v,
                    const std::vector<T> &o, int heads, int length, int depth, bool causal,
                    Index at) {
  Verdict verdict(0.02);
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < length; i += 5) {
      int last = causal ? i + 1 : length;
      std::vector<double> weight(last);
      double top = -INFINITY, total = 0;
      for (int j = 0; j < last; ++j) {
        double dot = 0;
        for (int d = 0; d < depth; ++d)
          dot += double(float(q[at(i, h, d)])) * double(float(k[at(j, h, d)]));
        weight[j] = dot / std::sqrt(double(depth));
        top = std::max(top, weight[j]);
      }
      for (double &w : weight)
        total += w = std::exp(w - top);
      for (int d = 0; d < depth; d += 3) {
        double sum = 0;
        for (int j = 0; j < last; ++j)
          sum += weight[j] * double(float(v[at(j, h, d)]));
        verdict.compare(double(float(o[at(i, h, d)])), sum / total);
      }
    }
  return verdict.finish();
}

} // namespace field

#endif // PENSTOCK_FIELD_HOST_H
