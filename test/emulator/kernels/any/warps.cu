//===- warps.cu - What the threads of a warp do together ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

extern "C" __global__ void shuffles(const uint32_t *in, uint32_t *out) {
  uint32_t lane = threadIdx.x, x = in[lane], all = 0xffffffff;
  uint32_t *to = out + 16 * lane;
  *to++ = __shfl_sync(all, x, (lane * 7) % 32);
  *to++ = __shfl_up_sync(all, x, 3);
  *to++ = __shfl_down_sync(all, x, 5, 8);
  *to++ = __shfl_xor_sync(all, x, 10);
  *to++ = __shfl_sync(all, x, lane + 3, 4);
  uint32_t got, inside;
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 9, 0, 0xffffffff;\n"
               "selp.u32 %1, 1, 0, p; }"
               : "=r"(got), "=r"(inside)
               : "r"(x));
  *to++ = got;
  *to++ = inside;
  *to++ = __ballot_sync(all, x % 3 == 0);
  *to++ = __any_sync(all, x == in[31]) | __all_sync(all, x != 12345) << 1;
  *to++ = __match_any_sync(all, x % 4);
  int same;
  *to++ = __match_all_sync(all, x >> 31 ^ x >> 31, &same);
  *to++ = same;
  *to++ = __reduce_add_sync(all, x);
  *to++ = __reduce_min_sync(all, int(x));
  *to++ = __reduce_xor_sync(all, x);
  // Two halves of the warp apart from each other.
  uint32_t result;
  if (lane < 13)
    result = __reduce_max_sync(0x1fff, x);
  else
    result = __ballot_sync(0xffffe000, x & 1);
  *to++ = result;
}

extern "C" __global__ void election(uint32_t *out) {
  uint32_t lane = threadIdx.x, leader, elected;
  asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }"
               : "=r"(leader), "=r"(elected));
  out[3 * lane] = leader;
  out[3 * lane + 1] = elected;
  uint32_t part = 0;
  if (lane >= 20)
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xfff00000; selp.u32 %0, 1, 0, p; }"
                 : "=r"(part));
  out[3 * lane + 2] = part;
}

/// Lanes that take different ways, loop different times and meet again.
extern "C" __global__ void divergence(const uint32_t *in, uint32_t *out) {
  uint32_t lane = threadIdx.x, n = in[lane], steps = 0;
  while (n != 1) {
    if (n % 2)
      n = 3 * n + 1;
    else
      n /= 2;
    ++steps;
    if (steps > 500)
      break;
  }
  uint32_t kind;
  switch (lane % 5) {
  case 0:
    kind = steps * 2;
    break;
  case 1:
    kind = steps + 100;
    break;
  case 2:
    kind = __popc(steps);
    break;
  default:
    kind = ~steps;
  }
  __syncwarp();
  out[lane] = kind + __shfl_sync(0xffffffff, steps, 31 - lane);
}
