//===- calls.cu - Functions that are called by address --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

using Operation = uint32_t (*)(uint32_t, uint32_t);
__device__ __noinline__ uint32_t add(uint32_t a, uint32_t b) { return a + b; }
__device__ __noinline__ uint32_t multiply(uint32_t a, uint32_t b) { return a * b; }
__device__ __noinline__ uint32_t subtract(uint32_t a, uint32_t b) { return a - b; }
__device__ Operation table[3] = {add, multiply, subtract};

/// Lanes of a warp call different functions, through a table in memory, and meet again.
extern "C" __global__ void byTable(const uint32_t *in, uint32_t *out) {
  uint32_t t = threadIdx.x;
  uint32_t x = table[t % 3](in[t], 7);
  out[t] = x + __shfl_xor_sync(0xffffffff, x, 1);
}

struct Shape {
  uint32_t size;
  __device__ virtual uint32_t area() const { return size; }
};
struct Square : Shape {
  __device__ uint32_t area() const override { return size * size; }
};

extern "C" __global__ void byVirtualFunction(const uint32_t *in, uint32_t *out) {
  uint32_t t = threadIdx.x;
  Shape shape;
  Square square;
  Shape *chosen = in[t] & 1 ? &shape : &square;
  chosen->size = t;
  out[t] = chosen->area();
}
