//===- matrices.cu - ldmatrix, stmatrix and mma.sync ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

/// Four 8x8 matrices of 16-bit elements in, the registers of every lane out, and
/// back into shared memory in other ways.
extern "C" __global__ void moveMatrices(const uint16_t *in, uint32_t *registers, uint16_t *out) {
  __shared__ __align__(16) uint16_t tile[4][8][8], back[3][4][8][8];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32)
    (&tile[0][0][0])[i] = in[i];
  __syncwarp();
  uint32_t row = sharedAddress(&tile[t / 8][t % 8][0]);
  uint32_t a, b, c, d, *to = registers + 12 * t;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(row)
               : "memory");
  to[0] = a, to[1] = b, to[2] = c, to[3] = d;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%4], {%0, %1, %2, %3};" ::"r"(a),
               "r"(b), "r"(c), "r"(d), "r"(sharedAddress(&back[0][t / 8][t % 8][0]))
               : "memory");
  uint32_t e, f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"
               : "=r"(e), "=r"(f)
               : "r"(row)
               : "memory");
  to[4] = e, to[5] = f;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%2], {%0, %1};" ::"r"(f), "r"(e),
               "r"(sharedAddress(&back[1][t / 8][t % 8][0]))
               : "memory");
  uint32_t g;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(g)
               : "r"(row)
               : "memory");
  to[6] = g;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(g));
  to[7] = g;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1], {%0};" ::"r"(g),
               "r"(sharedAddress(&back[2][t / 8][t % 8][0]))
               : "memory");
  __syncwarp();
  for (int i = t; i < 256; i += 32) {
    out[i] = (&back[0][0][0][0])[i];
    if (i < 128)
      out[256 + i] = (&back[1][0][0][0])[i];
    if (i < 64)
      out[384 + i] = (&back[2][0][0][0])[i];
  }
}

/// Registers of A (16 x K) and B (8 x K), rows of K elements in memory.
template <class T, int K>
DEVICE void loadFragments(const T *a, const T *b, uint32_t *ra, uint32_t *rb) {
  constexpr int per = 4 / sizeof(T);
  int t = threadIdx.x, group = t / 4, first = t % 4 * per;
  auto gather = [&](const T *row, int k) {
    uint32_t word = 0;
    for (int i = 0; i < per; ++i)
      word |= uint32_t(row[k + i]) << (8 * sizeof(T) * i);
    return word;
  };
  for (int half = 0; half < K / (4 * per); ++half) {
    ra[2 * half] = gather(a + group * K, first + 4 * per * half);
    ra[2 * half + 1] = gather(a + (group + 8) * K, first + 4 * per * half);
    rb[half] = gather(b + group * K, first + 4 * per * half);
  }
}

#define MMA_4_2(NAME, T, K, INSTRUCTION, D, CONSTRAINT)                                            \
  extern "C" __global__ void NAME(const T *a, const T *b, const D *c, D *d) {                      \
    uint32_t ra[4], rb[2];                                                                         \
    loadFragments<T, K>(a, b, ra, rb);                                                             \
    int row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;                                       \
    D r[4];                                                                                        \
    for (int i = 0; i < 4; ++i)                                                                    \
      r[i] = c[(row + i / 2 * 8) * 8 + column + i % 2];                                            \
    asm volatile("mma.sync.aligned." INSTRUCTION                                                   \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                \
                 : "+" CONSTRAINT(r[0]), "+" CONSTRAINT(r[1]), "+" CONSTRAINT(r[2]),               \
                   "+" CONSTRAINT(r[3])                                                            \
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));        \
    for (int i = 0; i < 4; ++i)                                                                    \
      d[(row + i / 2 * 8) * 8 + column + i % 2] = r[i];                                            \
  }
#define MMA_2_1(NAME, T, K, INSTRUCTION, D, CONSTRAINT)                                            \
  extern "C" __global__ void NAME(const T *a, const T *b, const D *c, D *d) {                      \
    uint32_t ra[2], rb[1];                                                                         \
    loadFragments<T, K>(a, b, ra, rb);                                                             \
    int row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;                                       \
    D r[4];                                                                                        \
    for (int i = 0; i < 4; ++i)                                                                    \
      r[i] = c[(row + i / 2 * 8) * 8 + column + i % 2];                                            \
    asm volatile(                                                                                  \
        "mma.sync.aligned." INSTRUCTION " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"     \
        : "+" CONSTRAINT(r[0]), "+" CONSTRAINT(r[1]), "+" CONSTRAINT(r[2]), "+" CONSTRAINT(r[3])   \
        : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));                                                     \
    for (int i = 0; i < 4; ++i)                                                                    \
      d[(row + i / 2 * 8) * 8 + column + i % 2] = r[i];                                            \
  }

MMA_4_2(mma_f16, uint16_t, 16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
MMA_2_1(mma_f16_k8, uint16_t, 8, "m16n8k8.row.col.f32.f16.f16.f32", float, "f")
MMA_4_2(mma_bf16, uint16_t, 16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
MMA_2_1(mma_bf16_k8, uint16_t, 8, "m16n8k8.row.col.f32.bf16.bf16.f32", float, "f")
MMA_4_2(mma_tf32, uint32_t, 8, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
MMA_2_1(mma_tf32_k4, uint32_t, 4, "m16n8k4.row.col.f32.tf32.tf32.f32", float, "f")
MMA_4_2(mma_e4m3, uint8_t, 32, "m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f")
MMA_4_2(mma_mixed, uint8_t, 32, "m16n8k32.row.col.f32.e5m2.e4m3.f32", float, "f")
MMA_2_1(mma_e4m3_k16, uint8_t, 16, "m16n8k16.row.col.f32.e4m3.e5m2.f32", float, "f")
MMA_4_2(mma_s8, uint8_t, 32, "m16n8k32.row.col.s32.s8.s8.s32", int32_t, "r")
MMA_4_2(mma_u8s8, uint8_t, 32, "m16n8k32.row.col.satfinite.s32.u8.s8.s32", int32_t, "r")
MMA_2_1(mma_s8_k16, uint8_t, 16, "m16n8k16.row.col.s32.s8.u8.s32", int32_t, "r")

/// Accumulators of 16 bits: pairs of columns in a register.
extern "C" __global__ void mma_half(const uint16_t *a, const uint16_t *b, const uint32_t *c,
                                    uint32_t *d) {
  uint32_t ra[4], rb[2];
  loadFragments<uint16_t, 16>(a, b, ra, rb);
  int row = threadIdx.x / 4, pair = threadIdx.x % 4;
  uint32_t r[2] = {c[row * 4 + pair], c[(row + 8) * 4 + pair]};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, "
               "{%6, %7}, {%0, %1};"
               : "+r"(r[0]), "+r"(r[1])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  d[row * 4 + pair] = r[0];
  d[(row + 8) * 4 + pair] = r[1];
}
