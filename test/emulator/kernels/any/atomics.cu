//===- atomics.cu - Atomic updates and reductions -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

/// Every thread of every block updates the same words.
extern "C" __global__ void updates(const uint32_t *in, uint32_t *words, uint64_t *longs,
                                   float *floats, float4 *quads, double *doubles, uint32_t *halves,
                                   uint32_t *seen) {
  __shared__ uint32_t shared[2];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t == 0)
    shared[0] = shared[1] = 0;
  __syncthreads();
  uint32_t x = in[i];
  seen[i] = atomicAdd(&words[0], 1); // every ticket once
  atomicMin(reinterpret_cast<int *>(&words[1]), int(x));
  atomicMax(&words[2], x);
  atomicAnd(&words[3], x | 0xffff0000);
  atomicOr(&words[4], x & 0x00ff00ff);
  atomicXor(&words[5], x);
  atomicInc(&words[6], 10);
  atomicDec(&words[7], 6);
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(&words[8]), "r"(x) : "memory");
  asm volatile("red.release.gpu.global.max.s32 [%0], %1;" ::"l"(&words[9]), "r"(x) : "memory");
  atomicAdd(reinterpret_cast<unsigned long long *>(&longs[0]), x);
  atomicMax(reinterpret_cast<long long *>(&longs[1]), (long long)(int(x)) << 20);
  atomicExch(reinterpret_cast<unsigned long long *>(&longs[2]), 77ull);
  atomicAdd(&floats[0], float(x % 16));
  asm volatile("red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(&floats[1]), "f"(float(x % 8))
               : "memory");
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(&floats[2]), "f"(1.0f), "f"(2.0f)
               : "memory");
  float4 before = atomicAdd(&quads[0], make_float4(1, 2, 3, 4));
  atomicAdd(&quads[1].x, before.y - 2 * before.x + before.w - 4 * before.x); // always 0
  atomicAdd(&doubles[0], double(x % 32) / 4);
  atomicAdd(reinterpret_cast<__half2 *>(&halves[0]), __floats2half2_rn(1, 2));
  atomicAdd(reinterpret_cast<__nv_bfloat162 *>(&halves[1]), __floats2bfloat162_rn(0.5f, 1));
  // A product under compare-and-swap: x % 3 + 1 is 1, 2 or 3.
  unsigned long long *product = reinterpret_cast<unsigned long long *>(&longs[3]);
  unsigned long long old = *reinterpret_cast<volatile unsigned long long *>(product), assumed;
  do {
    assumed = old;
    old = atomicCAS(product, assumed, assumed * (x % 3 + 1) % 1000003);
  } while (old != assumed);
  atomicAdd(&shared[0], x);
  asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(sharedAddress(&shared[1])), "r"(1u << (t % 32))
               : "memory");
  __syncthreads();
  if (t == 0) {
    words[10 + 2 * blockIdx.x] = shared[0];
    words[11 + 2 * blockIdx.x] = shared[1];
  }
}

/// 16 bytes at once: a counter in the low half that must always agree with its
/// complement in the high half.
extern "C" __global__ void wide(uint64_t *pair, uint64_t *last) {
  uint64_t low = 0, high = ~uint64_t(0);
  while (true) {
    uint64_t gotLow, gotHigh;
    asm volatile("{ .reg .b128 c, n, r; mov.b128 c, {%2, %3}; mov.b128 n, {%4, %5};\n"
                 "atom.acq_rel.gpu.global.cas.b128 r, [%6], c, n; mov.b128 {%0, %1}, r; }"
                 : "=l"(gotLow), "=l"(gotHigh)
                 : "l"(low), "l"(high), "l"(low + 1), "l"(~(low + 1)), "l"(pair)
                 : "memory");
    if (gotLow == low && gotHigh == high)
      break;
    low = gotLow;
    high = gotHigh;
  }
  // Whole values are exchanged: the halves belong together at any time.
  uint64_t a, b;
  asm volatile("{ .reg .b128 n, r; mov.b128 n, {%2, %3};\n"
               "atom.relaxed.gpu.global.exch.b128 r, [%4], n; mov.b128 {%0, %1}, r; }"
               : "=l"(a), "=l"(b)
               : "l"(uint64_t(threadIdx.x)), "l"(uint64_t(threadIdx.x) * 3), "l"(last)
               : "memory");
  if (b != 3 * a)
    atomicAdd(reinterpret_cast<unsigned long long *>(&pair[0]), 1000ull);
}
