//===- memory.cu - Generic addresses, spaces and widths -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

__constant__ uint32_t table[4] = {11, 22, 33, 44};
__device__ uint32_t deviceWords[4] = {5, 6, 7, 8};

/// One pointer that may lead anywhere: to shared, global, constant or local
/// memory, or to the kernel's parameters.
struct Numbers {
  uint32_t n[4];
};
extern "C" __global__ void anywhere(const uint32_t *in, const __grid_constant__ Numbers numbers,
                                    uint32_t *out) {
  __shared__ uint32_t shared[32];
  uint32_t local[4];
  int t = threadIdx.x;
  shared[t] = in[t] * 2;
  for (int i = 0; i < 4; ++i)
    local[(i + t) % 4] = 100 * i + t;
  __syncthreads();
  const uint32_t *pointers[6] = {shared, in, table, local, numbers.n, deviceWords};
  for (int i = 0; i < 6; ++i) {
    const uint32_t *p = pointers[(i + t) % 6];
    uint32_t value;
    asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(p + t % 4) : "memory");
    out[6 * t + (i + t) % 6] = value;
  }
  uint32_t spaces = 0;
  for (int i = 0; i < 6; ++i)
    spaces |= (__isShared(pointers[i]) | __isGlobal(pointers[i]) << 1 | __isConstant(pointers[i]) << 2 |
               __isLocal(pointers[i]) << 3)
              << (4 * i);
  out[6 * 32 + t] = spaces;
}

/// Loads and stores of every width, extension included.
extern "C" __global__ void widths(const uint8_t *in, uint8_t *out) {
  int t = threadIdx.x;
  const uint8_t *from = in + 64 * t;
  uint8_t *to = out + 64 * t;
  int32_t s;
  uint32_t u;
  uint16_t h;
  asm volatile("ld.global.s8 %0, [%1];" : "=r"(s) : "l"(from));
  *reinterpret_cast<int32_t *>(to) = s;
  asm volatile("ld.global.u8 %0, [%1+1];" : "=r"(u) : "l"(from));
  *reinterpret_cast<uint32_t *>(to + 4) = u;
  asm volatile("ld.global.s16 %0, [%1+2];" : "=r"(s) : "l"(from));
  *reinterpret_cast<int32_t *>(to + 8) = s;
  asm volatile("ld.global.nc.u16 %0, [%1+4];" : "=h"(h) : "l"(from));
  *reinterpret_cast<uint32_t *>(to + 12) = h;
  uint32_t a, b, c, d;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4+16];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(from));
  asm volatile("st.global.v4.u32 [%4+16], {%0, %1, %2, %3};" ::"r"(d), "r"(c), "r"(b), "r"(a),
               "l"(to)
               : "memory");
  uint64_t x, y;
  asm volatile("ld.global.L1::no_allocate.L2::128B.v2.u64 {%0, %1}, [%2+32];"
               : "=l"(x), "=l"(y)
               : "l"(from));
  asm volatile("st.global.v2.u64 [%2+32], {%0, %1};" ::"l"(y), "l"(x), "l"(to) : "memory");
  asm volatile("ld.relaxed.gpu.global.b64 %0, [%1+48];" : "=l"(x) : "l"(from));
  asm volatile("st.release.gpu.global.b64 [%1+48], %0;" ::"l"(x + 1), "l"(to) : "memory");
  // Only the low byte and half-word are stored.
  asm volatile("st.global.u8 [%1+56], %0;" ::"r"(0x12345678), "l"(to) : "memory");
  asm volatile("st.global.u8 [%1+57], %0;" ::"r"(0xab), "l"(to) : "memory");
  asm volatile("st.global.u16 [%1+58], %0;" ::"h"(uint16_t(0xcdef)), "l"(to) : "memory");
  asm volatile("{ .reg .b128 q; mov.b128 q, {%0, %1}; mov.b128 {%0, %1}, q; }" : "+l"(x), "+l"(y));
  *reinterpret_cast<uint32_t *>(to + 60) = uint32_t(x) ^ uint32_t(y);
}
