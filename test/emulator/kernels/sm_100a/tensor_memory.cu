//===- tensor_memory.cu - Ways into and out of tensor memory --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images of tensor memory are 128 lanes x 64 columns. Each kernel begins and ends
// with the plain shape, so that the host sees where another shape reads or
// writes: thread t's register i is word t * count + i of a buffer.
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

constexpr int columns = 64;

DEVICE uint32_t warpBase(uint32_t base) { return base + (threadIdx.x / 32 * 32 << 16); }
DEVICE void waitStores() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

DEVICE uint32_t begin(uint32_t *result, const uint32_t *image) {
  if (threadIdx.x < 32)
    tensorAlloc(sharedAddress(result), columns);
  tensorFenceBefore();
  __syncthreads();
  tensorFenceAfter();
  uint32_t base = *result;
  for (int c = 0; c < columns; ++c)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(warpBase(base) + c),
                 "r"(image[threadIdx.x * columns + c])
                 : "memory");
  waitStores();
  return base;
}
DEVICE void end(uint32_t base, uint32_t *out) {
  for (int c = 0; c < columns; c += 16) {
    uint32_t r[16];
    tensorLoad16(warpBase(base) + c, r);
    tensorWaitLoad();
    for (int i = 0; i < 16; ++i)
      out[threadIdx.x * columns + c + i] = r[i];
  }
  tensorFenceBefore();
  __syncthreads();
  tensorFenceAfter();
  if (threadIdx.x < 32) {
    tensorRelinquish();
    tensorFree(base, columns);
  }
}

/// Registers of a load at column 4, upper half of the lanes of a quarter if it
/// only takes 16 of them; and a store at the same place.
extern "C" __global__ void shape_32x32b_x2(const uint32_t *image, const uint32_t *in,
                                           uint32_t *loaded, uint32_t *out, uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[2], w[2];
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(at)
               : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 2; ++i) {
    loaded[threadIdx.x * 2 + i] = r[i];
    w[i] = in[threadIdx.x * 2 + i];
  }
  asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1, %2};" ::"r"(at), "r"(w[0]),
               "r"(w[1])
               : "memory");
  waitStores();
  end(base, out);
}

extern "C" __global__ void shape_16x64b_x4(const uint32_t *image, const uint32_t *in,
                                           uint32_t *loaded, uint32_t *out, uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[4], w[4];
  asm volatile("tcgen05.ld.sync.aligned.16x64b.x4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 4; ++i) {
    loaded[threadIdx.x * 4 + i] = r[i];
    w[i] = in[threadIdx.x * 4 + i];
  }
  asm volatile("tcgen05.st.sync.aligned.16x64b.x4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(w[0]),
               "r"(w[1]), "r"(w[2]), "r"(w[3])
               : "memory");
  waitStores();
  end(base, out);
}

extern "C" __global__ void shape_16x128b_x4(const uint32_t *image, const uint32_t *in,
                                            uint32_t *loaded, uint32_t *out, uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[8], w[8];
  asm volatile("tcgen05.ld.sync.aligned.16x128b.x4.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),
                 "=r"(r[7])
               : "r"(at)
               : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 8; ++i) {
    loaded[threadIdx.x * 8 + i] = r[i];
    w[i] = in[threadIdx.x * 8 + i];
  }
  asm volatile(
      "tcgen05.st.sync.aligned.16x128b.x4.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(at),
      "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
      : "memory");
  waitStores();
  end(base, out);
}

extern "C" __global__ void shape_16x256b_x4(const uint32_t *image, const uint32_t *in,
                                            uint32_t *loaded, uint32_t *out, uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[16], w[16];
  asm volatile("tcgen05.ld.sync.aligned.16x256b.x4.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
               "%10, %11, %12, %13, %14, %15}, [%16];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),
                 "=r"(r[7]), "=r"(r[8]), "=r"(r[9]), "=r"(r[10]), "=r"(r[11]), "=r"(r[12]),
                 "=r"(r[13]), "=r"(r[14]), "=r"(r[15])
               : "r"(at)
               : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 16; ++i) {
    loaded[threadIdx.x * 16 + i] = r[i];
    w[i] = in[threadIdx.x * 16 + i];
  }
  asm volatile("tcgen05.st.sync.aligned.16x256b.x4.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, %9, "
               "%10, %11, %12, %13, %14, %15, %16};" ::"r"(at),
               "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]),
               "r"(w[7]), "r"(w[8]), "r"(w[9]), "r"(w[10]), "r"(w[11]), "r"(w[12]), "r"(w[13]),
               "r"(w[14]), "r"(w[15])
               : "memory");
  waitStores();
  end(base, out);
}

extern "C" __global__ void shape_16x32bx2_x8(const uint32_t *image, const uint32_t *in,
                                             uint32_t *loaded, uint32_t *out, uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[8], w[8];
  asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 24;"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),
                 "=r"(r[7])
               : "r"(at)
               : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 8; ++i) {
    loaded[threadIdx.x * 8 + i] = r[i];
    w[i] = in[threadIdx.x * 8 + i];
  }
  asm volatile(
      "tcgen05.st.sync.aligned.16x32bx2.x8.b32 [%0], 24, {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(
          at),
      "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
      : "memory");
  waitStores();
  end(base, out);
}

extern "C" __global__ void shape_32x32b_x8_packed(const uint32_t *image, const uint32_t *in,
                                                  uint32_t *loaded, uint32_t *out, uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[8], w[8];
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x8.pack::16b.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),
        "=r"(r[7])
      : "r"(at)
      : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 8; ++i) {
    loaded[threadIdx.x * 8 + i] = r[i];
    w[i] = in[threadIdx.x * 8 + i];
  }
  asm volatile(
      "tcgen05.st.sync.aligned.32x32b.x8.unpack::16b.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::
          "r"(at),
      "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
      : "memory");
  waitStores();
  end(base, out);
}

extern "C" __global__ void shape_16x64b_x2_packed(const uint32_t *image, const uint32_t *in,
                                                  uint32_t *loaded, uint32_t *out, uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[2], w[2];
  asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(at)
               : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 2; ++i) {
    loaded[threadIdx.x * 2 + i] = r[i];
    w[i] = in[threadIdx.x * 2 + i];
  }
  asm volatile("tcgen05.st.sync.aligned.16x64b.x2.unpack::16b.b32 [%0], {%1, %2};" ::"r"(at),
               "r"(w[0]), "r"(w[1])
               : "memory");
  waitStores();
  end(base, out);
}

extern "C" __global__ void shape_16x32bx2_x4_packed(const uint32_t *image, const uint32_t *in,
                                                    uint32_t *loaded, uint32_t *out,
                                                    uint32_t lane) {
  __shared__ uint32_t result;
  uint32_t base = begin(&result, image);
  uint32_t at = warpBase(base) + 4 + (lane << 16), r[4], w[4];
  asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x4.pack::16b.b32 {%0, %1, %2, %3}, [%4], 24;"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
  tensorWaitLoad();
  for (int i = 0; i < 4; ++i) {
    loaded[threadIdx.x * 4 + i] = r[i];
    w[i] = in[threadIdx.x * 4 + i];
  }
  asm volatile(
      "tcgen05.st.sync.aligned.16x32bx2.x4.unpack::16b.b32 [%0], 24, {%1, %2, %3, %4};" ::"r"(at),
      "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
      : "memory");
  waitStores();
  end(base, out);
}

/// Shared memory into columns 8 and on, through a descriptor.
#define COPY(NAME, GROUP, DIMS, SHAPE)                                                             \
  extern "C" __global__ void DIMS copy_##NAME(const uint32_t *image, const uint4 *in,              \
                                              uint32_t *out, uint64_t descriptor) {                \
    extern __shared__ __align__(1024) uint4 shared[];                                              \
    __shared__ uint32_t result;                                                                    \
    __shared__ __align__(8) uint64_t bar;                                                          \
    if (threadIdx.x < 32)                                                                          \
      asm volatile("tcgen05.alloc.cta_group::" #GROUP                                              \
                   ".sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(sharedAddress(&result))         \
                   : "memory");                                                                    \
    if (threadIdx.x == 0) {                                                                        \
      barrierInit(sharedAddress(&bar), 1);                                                         \
      barrierInitFence();                                                                          \
    }                                                                                              \
    for (int i = threadIdx.x; i < 512; i += 128)                                                   \
      shared[i] = in[blockIdx.x * 512 + i];                                                        \
    fenceAsyncShared();                                                                            \
    tensorFenceBefore();                                                                           \
    __syncthreads();                                                                               \
    tensorFenceAfter();                                                                            \
    uint32_t base = result;                                                                        \
    for (int c = 0; c < columns; ++c)                                                              \
      asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(warpBase(base) + c),  \
                   "r"(image[threadIdx.x * columns + c])                                           \
                   : "memory");                                                                    \
    waitStores();                                                                                  \
    tensorFenceBefore();                                                                           \
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");   \
    tensorFenceAfter();                                                                            \
    if (threadIdx.x == 0 && blockIdx.x == 0) {                                                     \
      asm volatile("tcgen05.cp.cta_group::" #GROUP "." SHAPE " [%0], %1;" ::"r"(base + 8),         \
                   "l"(descriptor + ((sharedAddress(shared) & 0x3ffff) >> 4))                      \
                   : "memory");                                                                    \
      asm volatile(                                                                                \
          "tcgen05.commit.cta_group::" #GROUP                                                      \
          ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(         \
              sharedAddress(&bar)),                                                                \
          "h"(uint16_t(GROUP == 2 ? 3 : 1))                                                        \
          : "memory");                                                                             \
    }                                                                                              \
    barrierWait(sharedAddress(&bar), 0);                                                           \
    tensorFenceAfter();                                                                            \
    for (int c = 0; c < columns; c += 16) {                                                        \
      uint32_t r[16];                                                                              \
      tensorLoad16(warpBase(base) + c, r);                                                         \
      tensorWaitLoad();                                                                            \
      for (int i = 0; i < 16; ++i)                                                                 \
        out[(blockIdx.x * 128 + threadIdx.x) * columns + c + i] = r[i];                            \
    }                                                                                              \
    tensorFenceBefore();                                                                           \
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");   \
    if (threadIdx.x < 32)                                                                          \
      asm volatile("tcgen05.dealloc.cta_group::" #GROUP ".sync.aligned.b32 %0, 64;" ::"r"(base));  \
  }
#define PAIR __cluster_dims__(2, 1, 1)

COPY(128x256b, 1, , "128x256b")
COPY(128x128b, 1, , "128x128b")
COPY(4x256b, 1, , "4x256b")
COPY(64x128b_02_13, 1, , "64x128b.warpx2::02_13")
COPY(64x128b_01_23, 1, , "64x128b.warpx2::01_23")
COPY(32x128b, 1, , "32x128b.warpx4")
COPY(pair, 2, PAIR, "32x128b.warpx4")
COPY(four, 1, , "128x256b.b8x16.b4x16_p64")
COPY(six, 1, , "128x128b.b8x16.b6x16_p32")

/// Allocations of several sizes, freed in another order and made anew.
extern "C" __global__ void allocations(uint32_t *out) {
  __shared__ uint32_t result[4];
  uint32_t sizes[4] = {256, 128, 32, 32}, base[4];
  for (int i = 0; i < 4; ++i)
    tensorAlloc(sharedAddress(&result[i]), sizes[i]);
  __syncwarp();
  for (int i = 0; i < 4; ++i)
    base[i] = result[i];
  tensorFree(base[1], 128);
  tensorFree(base[3], 32);
  __syncwarp();
  tensorAlloc(sharedAddress(&result[3]), 32);
  tensorRelinquish();
  __syncwarp();
  base[3] = result[3];
  tensorFree(base[0], 256);
  tensorFree(base[3], 32);
  tensorFree(base[2], 32);
  if (threadIdx.x < 4)
    out[threadIdx.x] = base[threadIdx.x];
}
