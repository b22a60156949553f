//===- saxpy.cu - An ordinary CUDA program --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Knows nothing of the emulator: runtime calls, a device variable, a kernel with
// shared memory, printf, and its own verification.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <vector>

__device__ float offset = 1;

__global__ void saxpy(float a, const float *x, float *y, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  // Neighbors in the block change places.
  if (i < n)
    y[i] = a * tile[threadIdx.x ^ 1] + y[i] + offset;
  if (i == 0)
    printf("hello from block %d of %d\n", blockIdx.x, gridDim.x);
}

int main() {
  constexpr int n = 1024;
  std::vector<float> x(n), y(n), result(n);
  for (int i = 0; i < n; ++i) {
    x[i] = float(i % 17);
    y[i] = float(i % 5);
  }
  float *dx, *dy, two = 2;
  bool ok = cudaMalloc(&dx, n * 4) == cudaSuccess &&
            cudaMalloc(&dy, n * 4) == cudaSuccess;
  cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(offset, &two, 4);
  saxpy<<<n / 128, 128>>>(3, dx, dy, n);
  ok = ok && cudaDeviceSynchronize() == cudaSuccess;
  cudaMemcpy(result.data(), dy, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    ok = ok && result[i] == 3 * x[i ^ 1] + y[i] + 2;
  cudaFree(dx);
  cudaFree(dy);
  printf(ok ? "verified\n" : "wrong\n");
  return ok ? 0 : 1;
}
