//===- several_kernels.cu - Kernels that initialize, race and synchronize -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cstdio>

__global__ void fill(float *x) {
  int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  x[i] = float(i);
}

namespace app {
/// A barrier is missing between the stores and the loads.
template <class T> __global__ void reverse(T *x) {
  __shared__ T tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[63 - threadIdx.x];
}
} // namespace app

__global__ void exchange(float *x) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[63 - threadIdx.x];
}

int main() {
  float *x = nullptr;
  cudaMalloc(&x, 64 * sizeof(float));
  fill<<<2, 32>>>(x);
  app::reverse<float><<<1, 64>>>(x);
  exchange<<<1, 64>>>(x);
  int result = cudaDeviceSynchronize();
  std::printf("finished\n");
  return result;
}
