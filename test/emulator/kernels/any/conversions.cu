//===- conversions.cu - Between all types of numbers ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 8-, 6- and 4-bit types go through CUDA's own headers, which use the
// conversion instructions where the architecture has them and integer
// arithmetic where not; both must give the same codes.
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#define HALF(INSTRUCTION)                                                                          \
  {                                                                                                \
    uint16_t h;                                                                                    \
    asm volatile(INSTRUCTION " %0, %1;" : "=h"(h) : "f"(x));                                       \
    *to++ = h;                                                                                     \
  }
#define WORD(INSTRUCTION)                                                                          \
  asm volatile(INSTRUCTION " %0, %1;" : "=r"(*to) : "f"(x));                                       \
  ++to;
#define PAIR(INSTRUCTION)                                                                          \
  asm volatile(INSTRUCTION " %0, %1, %2;" : "=r"(*to) : "f"(x), "f"(y));                           \
  ++to;

extern "C" __global__ void fromFloat(const float *in, uint32_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  float x = in[2 * i], y = in[2 * i + 1];
  uint32_t *to = out + 18 * i;
  HALF("cvt.rn.f16.f32")
  HALF("cvt.rz.f16.f32")
  HALF("cvt.rm.f16.f32")
  HALF("cvt.rp.f16.f32")
  HALF("cvt.rn.bf16.f32")
  WORD("cvt.rna.tf32.f32")
  PAIR("cvt.rn.f16x2.f32")
  PAIR("cvt.rz.bf16x2.f32")
  PAIR("cvt.rn.relu.bf16x2.f32")
  WORD("cvt.rni.s32.f32")
  WORD("cvt.rzi.s32.f32")
  WORD("cvt.rmi.s32.f32")
  WORD("cvt.rpi.u32.f32")
  WORD("cvt.rzi.sat.s8.f32")
  WORD("cvt.rni.f32.f32")
  WORD("cvt.sat.f32.f32")
  HALF("cvt.rn.relu.f16.f32")
  HALF("cvt.rn.relu.bf16.f32")
}

extern "C" __global__ void fromInteger(const int32_t *in, uint64_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  int32_t x = in[i];
  uint64_t *to = out + 10 * i;
  float f;
  double d;
  asm volatile("cvt.rn.f32.s32 %0, %1;" : "=f"(f) : "r"(x));
  *to++ = __float_as_uint(f);
  asm volatile("cvt.rz.f32.u32 %0, %1;" : "=f"(f) : "r"(x));
  *to++ = __float_as_uint(f);
  asm volatile("cvt.rp.f32.s32 %0, %1;" : "=f"(f) : "r"(x));
  *to++ = __float_as_uint(f);
  asm volatile("cvt.rn.f64.s32 %0, %1;" : "=d"(d) : "r"(x));
  *to++ = __double_as_longlong(d);
  asm volatile("cvt.s64.s8 %0, %1;" : "=l"(*to) : "r"(x));
  ++to;
  asm volatile("cvt.u64.u16 %0, %1;" : "=l"(*to) : "h"(uint16_t(x)));
  ++to;
  uint32_t w;
  asm volatile("cvt.sat.u8.s32 %0, %1;" : "=r"(w) : "r"(x));
  *to++ = w;
  asm volatile("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(w) : "r"(x), "r"(-x));
  *to++ = w;
  uint16_t h;
  asm volatile("cvt.rn.f16.s32 %0, %1;" : "=h"(h) : "r"(x));
  *to++ = h;
  asm volatile("cvt.rn.bf16.s32 %0, %1;" : "=h"(h) : "r"(x));
  *to++ = h;
}

extern "C" __global__ void toNarrow(const float *in, uint32_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  float2 xy = make_float2(in[2 * i], in[2 * i + 1]);
  uint32_t *to = out + 7 * i;
  *to++ = __nv_cvt_float2_to_fp8x2(xy, __NV_SATFINITE, __NV_E4M3);
  *to++ = __nv_cvt_float2_to_fp8x2(xy, __NV_SATFINITE, __NV_E5M2);
  *to++ = __nv_cvt_float2_to_fp6x2(xy, __NV_E2M3, cudaRoundNearest);
  *to++ = __nv_cvt_float2_to_fp6x2(xy, __NV_E3M2, cudaRoundNearest);
  *to++ = __nv_cvt_float2_to_fp4x2(xy, __NV_E2M1, cudaRoundNearest);
  *to++ = __nv_cvt_float2_to_e8m0x2(xy, __NV_SATFINITE, cudaRoundPosInf);
  *to++ = __nv_cvt_float2_to_e8m0x2(xy, __NV_SATFINITE, cudaRoundZero);
}

/// All codes of all narrow types, as f16 (the scales as bf16).
extern "C" __global__ void fromNarrow(uint32_t *out) {
  uint32_t code = threadIdx.x;
  auto both = [](__half2_raw h) { return uint32_t(h.x) | uint32_t(h.y) << 16; };
  __nv_fp8x2_storage_t pair = __nv_fp8x2_storage_t(code | (255 - code) << 8);
  uint32_t *to = out + 6 * code;
  *to++ = both(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3));
  *to++ = both(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E5M2));
  *to++ = both(__nv_cvt_fp6x2_to_halfraw2(pair & 0x3f3f, __NV_E2M3));
  *to++ = both(__nv_cvt_fp6x2_to_halfraw2(pair & 0x3f3f, __NV_E3M2));
  *to++ = both(__nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t(code), __NV_E2M1));
  __nv_bfloat162_raw scales = __nv_cvt_e8m0x2_to_bf162raw(pair);
  *to++ = uint32_t(scales.x) | uint32_t(scales.y) << 16;
}
