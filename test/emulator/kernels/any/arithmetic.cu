//===- arithmetic.cu - Integers, floats and packed pairs ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread takes one set of operands and writes the results of a list of
// instructions side by side; the list in arithmetic.cpp has the same order.
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

#define TWO(INSTRUCTION)                                                                           \
  asm volatile(INSTRUCTION " %0, %1, %2;" : "=r"(*to) : "r"(a), "r"(b));                           \
  ++to;
#define THREE(INSTRUCTION)                                                                         \
  asm volatile(INSTRUCTION " %0, %1, %2, %3;" : "=r"(*to) : "r"(a), "r"(b), "r"(c));               \
  ++to;
#define ONE(INSTRUCTION)                                                                           \
  asm volatile(INSTRUCTION " %0, %1;" : "=r"(*to) : "r"(a));                                       \
  ++to;

extern "C" __global__ void integers(const uint32_t *in, uint32_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  uint32_t a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  uint32_t *to = out + 42 * i;
  TWO("add.u32")
  TWO("add.sat.s32")
  TWO("sub.sat.s32")
  TWO("mul.lo.s32")
  TWO("mul.hi.s32")
  TWO("mul.hi.u32")
  THREE("mad.lo.s32")
  THREE("mad.hi.u32")
  THREE("mad.hi.sat.s32")
  TWO("mul24.lo.s32")
  TWO("mul24.hi.u32")
  THREE("sad.s32")
  TWO("div.s32")
  TWO("rem.s32")
  TWO("div.u32")
  TWO("rem.u32")
  ONE("abs.s32")
  TWO("min.s32")
  TWO("max.u32")
  ONE("popc.b32")
  ONE("clz.b32")
  ONE("bfind.s32")
  ONE("bfind.shiftamt.u32")
  ONE("brev.b32")
  THREE("bfe.s32")
  THREE("bfe.u32")
  TWO("shl.b32")
  TWO("shr.s32")
  THREE("shf.l.wrap.b32")
  THREE("shf.r.clamp.b32")
  THREE("prmt.b32")
  THREE("dp4a.s32.u32")
  THREE("dp2a.lo.u32.u32")
  THREE("dp2a.hi.s32.u32")
  TWO("bmsk.clamp.b32")
  TWO("szext.wrap.s32")
  asm volatile("lop3.b32 %0, %1, %2, %3, 0xd2;" : "=r"(*to) : "r"(a), "r"(b), "r"(c));
  ++to;
  asm volatile("bfi.b32 %0, %1, %2, %3, 9;" : "=r"(*to) : "r"(a), "r"(b), "r"(c));
  ++to;
  // 96 bits by the carry flag.
  uint32_t low, middle, high;
  asm volatile("add.cc.u32 %0, %3, %4; addc.cc.u32 %1, %3, %5; addc.u32 %2, %4, %5;"
               : "=r"(low), "=r"(middle), "=r"(high)
               : "r"(a), "r"(b), "r"(c));
  *to++ = low;
  *to++ = middle;
  *to++ = high;
  TWO("add.s16x2")
}

#define FTWO(INSTRUCTION)                                                                          \
  asm volatile(INSTRUCTION " %0, %1, %2;" : "=f"(*to) : "f"(a), "f"(b));                           \
  ++to;
#define FTHREE(INSTRUCTION)                                                                        \
  asm volatile(INSTRUCTION " %0, %1, %2, %3;" : "=f"(*to) : "f"(a), "f"(b), "f"(c));               \
  ++to;
#define FONE(INSTRUCTION)                                                                          \
  asm volatile(INSTRUCTION " %0, %1;" : "=f"(*to) : "f"(a));                                       \
  ++to;
#define DTWO(INSTRUCTION)                                                                          \
  asm volatile(INSTRUCTION " %0, %1, %2;" : "=d"(*wide) : "d"(double(a)), "d"(double(b)));         \
  ++wide;

extern "C" __global__ void floats(const float *in, float *out, double *wide, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  float a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  float *to = out + 28 * i;
  wide += 6 * i;
  FTWO("add.rn.f32")
  FTWO("add.rz.f32")
  FTWO("add.rm.f32")
  FTWO("add.rp.f32")
  FTWO("sub.rz.f32")
  FTWO("mul.rn.f32")
  FTWO("mul.rm.f32")
  FTWO("mul.rp.ftz.f32")
  FTHREE("fma.rn.f32")
  FTHREE("fma.rz.f32")
  FTHREE("fma.rp.f32")
  FTWO("div.rn.f32")
  FTWO("div.rz.f32")
  FONE("sqrt.rn.f32")
  FONE("sqrt.rp.f32")
  FONE("rcp.rn.f32")
  FONE("rcp.rm.f32")
  FTWO("add.rn.sat.f32")
  FTHREE("fma.rn.sat.f32")
  FTWO("min.f32")
  FTWO("max.NaN.f32")
  FTWO("max.xorsign.abs.f32")
  FTWO("copysign.f32")
  FONE("abs.ftz.f32")
  FTWO("add.ftz.f32")
  FTWO("mul.rz.f32")
  FONE("rcp.rp.f32")
  FONE("neg.f32")
  DTWO("add.rz.f64")
  DTWO("mul.rp.f64")
  DTWO("div.rn.f64")
  DTWO("sub.rm.f64")
  DTWO("min.f64")
  DTWO("div.rm.f64")
}

#define PTWO(INSTRUCTION) TWO(INSTRUCTION)

extern "C" __global__ void halves(const uint32_t *in, uint32_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  uint32_t a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  uint32_t *to = out + 10 * i;
  PTWO("add.rn.f16x2")
  PTWO("sub.f16x2")
  PTWO("mul.rn.f16x2")
  THREE("fma.rn.f16x2")
  THREE("fma.rn.relu.f16x2")
  PTWO("min.f16x2")
  PTWO("max.NaN.f16x2")
  PTWO("add.sat.f16x2")
  ONE("neg.f16x2")
  ONE("abs.f16x2")
}

extern "C" __global__ void brains(const uint32_t *in, uint32_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  uint32_t a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  uint32_t *to = out + 6 * i;
  PTWO("add.rn.bf16x2")
  PTWO("sub.rn.bf16x2")
  PTWO("mul.rn.bf16x2")
  THREE("fma.rn.bf16x2")
  PTWO("max.bf16x2")
  THREE("fma.rn.relu.bf16x2")
}
