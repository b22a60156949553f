//===- block_scale.cu - Block-scaled mma.sync -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

/// Scales \p from on of a row, one after the other from byte BYTE of a word on; the rest is NaN.
template <int SCALES, int BYTE> DEVICE uint32_t scaleWord(const uint8_t *from) {
  uint32_t word = 0xffffffff;
  for (int i = 0; i < SCALES; ++i) {
    int shift = 8 * (BYTE + i);
    word = (word & ~(0xffu << shift)) | uint32_t(from[i]) << shift;
  }
  return word;
}

/// A is 16 x K and B 8 x K, with PER codes of BITS bits in a register, SHIFT bits above the lowest.
template <int K, int BITS> DEVICE uint32_t gather(const uint8_t *codes, int shift) {
  uint32_t word = 0;
  for (int i = 0; i < 32 / BITS; ++i)
    word |= uint32_t(codes[i]) << shift << (BITS * i);
  return word;
}

#define MMA(NAME, K, BITS, SHIFT_A, SHIFT_B, SCALES, INSTRUCTION, BYTE_A, THREAD_A, BYTE_B,        \
            THREAD_B)                                                                              \
  extern "C" __global__ void NAME(const uint8_t *a, const uint8_t *b, const uint8_t *scaleA,       \
                                  const uint8_t *scaleB, const float *c, float *d) {               \
    constexpr int per = 32 / BITS;                                                                 \
    int t = threadIdx.x, group = t / 4, inQuad = t % 4;                                            \
    uint32_t ra[4], rb[2], sa = 0xffffffff, sb = 0xffffffff;                                       \
    for (int i = 0; i < 4; ++i)                                                                    \
      ra[i] =                                                                                      \
          gather<K, BITS>(a + (group + i % 2 * 8) * K + i / 2 * (K / 2) + inQuad * per, SHIFT_A);  \
    for (int i = 0; i < 2; ++i)                                                                    \
      rb[i] = gather<K, BITS>(b + group * K + i * (K / 2) + inQuad * per, SHIFT_B);                \
    if (inQuad / 2 == THREAD_A)                                                                    \
      sa = scaleWord<SCALES, BYTE_A>(scaleA + (group + inQuad % 2 * 8) * SCALES);                  \
    if (inQuad == THREAD_B)                                                                        \
      sb = scaleWord<SCALES, BYTE_B>(scaleB + group * SCALES);                                     \
    float r[4];                                                                                    \
    for (int i = 0; i < 4; ++i)                                                                    \
      r[i] = c[(group + i / 2 * 8) * 8 + inQuad * 2 + i % 2];                                      \
    asm volatile("mma.sync.aligned." INSTRUCTION                                                   \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {" #BYTE_A \
                 ", " #THREAD_A "}, %11, {" #BYTE_B ", " #THREAD_B "};"                            \
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])                                  \
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]),         \
                   "r"(sa), "r"(sb));                                                              \
    for (int i = 0; i < 4; ++i)                                                                    \
      d[(group + i / 2 * 8) * 8 + inQuad * 2 + i % 2] = r[i];                                      \
  }

#define MX8 "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32."
MMA(mx8_e4m3, 32, 8, 0, 0, 1, MX8 "e4m3.e4m3.f32.ue8m0", 0, 0, 0, 0)
MMA(mx8_e5m2_e4m3, 32, 8, 0, 0, 1, MX8 "e5m2.e4m3.f32.ue8m0", 1, 1, 2, 1)
MMA(mx8_e2m3_e3m2, 32, 8, 0, 0, 1, MX8 "e2m3.e3m2.f32.ue8m0", 3, 0, 1, 2)
MMA(mx8_e2m1_e4m3, 32, 8, 2, 0, 1, MX8 "e2m1.e4m3.f32.ue8m0", 2, 1, 3, 3)
#define FP4 "m16n8k64.row.col.kind::"
#define FP4_TYPES ".f32.e2m1.e2m1.f32."
MMA(mxf4, 64, 4, 0, 0, 2, FP4 "mxf4.block_scale.scale_vec::2X" FP4_TYPES "ue8m0", 0, 1, 2, 1)
MMA(mxf4_default, 64, 4, 0, 0, 2, FP4 "mxf4.block_scale" FP4_TYPES "ue8m0", 2, 0, 0, 2)
MMA(nvf4_2x, 64, 4, 0, 0, 2, FP4 "mxf4nvf4.block_scale.scale_vec::2X" FP4_TYPES "ue8m0", 2, 1, 2, 3)
MMA(nvf4_4x, 64, 4, 0, 0, 4, FP4 "mxf4nvf4.block_scale.scale_vec::4X" FP4_TYPES "ue4m3", 0, 1, 0, 2)

/// Four matrices of 8 rows of 16 padded values; the padding is not written.
extern "C" __global__ void unpackMatrices(const uint32_t *six, const uint32_t *four,
                                          uint32_t *registers) {
  __shared__ __align__(16) uint32_t rows[2][32][4];
  int t = threadIdx.x;
  for (int i = 0; i < 3; ++i)
    rows[0][t][i] = six[t * 3 + i];
  for (int i = 0; i < 2; ++i)
    rows[1][t][i] = four[t * 2 + i];
  __syncwarp();
  uint32_t r[7];
  asm volatile("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(&rows[0][t][0]))
               : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n16.x2.shared::cta.b8x16.b4x16_p64 {%0, %1}, [%2];"
               : "=r"(r[4]), "=r"(r[5])
               : "r"(sharedAddress(&rows[1][t][0]))
               : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%0}, [%1];"
               : "=r"(r[6])
               : "r"(sharedAddress(&rows[1][t][0]))
               : "memory");
  for (int i = 0; i < 7; ++i)
    registers[t * 7 + i] = r[i];
}
