//===- tensor_products.cu - tcgen05.mma of every kind ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host prepares images: of the operands in shared memory and of tensor
// memory as a whole (128 lanes x 512 columns: accumulator, scales, perhaps A). A
// kernel loads them, multiplies once and writes tensor memory back. Pairs of
// blocks have an image each; the even block multiplies and commits to both.
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

constexpr int space = 65536; // bytes for each operand
constexpr int columns = 512;

struct Arguments {
  uint64_t a, b; // descriptors but for the address
  uint32_t instruction, accumulate;
  uint32_t columnA, columnScaleA, columnScaleB, unused; // of tensor memory
  uint32_t disabled[8];
};

/// What an instruction takes; each form uses some of it.
struct Operation {
  uint32_t d;
  uint64_t a, b;
  uint32_t tensorA, scaleA, scaleB, instruction, accumulate;
};

DEVICE void loadOperands(const uint4 *a, const uint4 *b, uint8_t *shared) {
  uint4 *to = reinterpret_cast<uint4 *>(shared);
  for (int i = threadIdx.x; i < space / 16; i += 128) {
    to[i] = a[blockIdx.x * (space / 16) + i];
    to[space / 16 + i] = b[blockIdx.x * (space / 16) + i];
  }
  fenceAsyncShared();
}
/// Thread t holds lane t.
DEVICE void loadTensor(const uint32_t *image, uint32_t base) {
  base += threadIdx.x / 32 * 32 << 16;
  image += (blockIdx.x * 128 + threadIdx.x) * columns;
  for (int c = 0; c < columns; c += 4)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};" ::"r"(base + c),
                 "r"(image[c]), "r"(image[c + 1]), "r"(image[c + 2]), "r"(image[c + 3])
                 : "memory");
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
DEVICE void storeTensor(uint32_t *out, uint32_t base) {
  base += threadIdx.x / 32 * 32 << 16;
  out += (blockIdx.x * 128 + threadIdx.x) * columns;
  for (int c = 0; c < columns; c += 16) {
    uint32_t r[16];
    tensorLoad16(base + c, r);
    tensorWaitLoad();
    for (int i = 0; i < 16; ++i)
      out[c + i] = r[i];
  }
}
template <int Group> DEVICE void everybody() {
  tensorFenceBefore();
  if (Group == 2)
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  else
    __syncthreads();
  tensorFenceAfter();
}

#define KERNEL(NAME, GROUP, DIMS, ...)                                                             \
  extern "C" __global__ void DIMS __launch_bounds__(128)                                           \
      NAME(const uint4 *imageA, const uint4 *imageB, const uint32_t *tensor, uint32_t *out,        \
           const __grid_constant__ Arguments arguments) {                                          \
    extern __shared__ __align__(1024) uint8_t shared[];                                            \
    __shared__ __align__(8) uint64_t bar;                                                          \
    __shared__ uint32_t result;                                                                    \
    if (threadIdx.x < 32) {                                                                        \
      asm volatile("tcgen05.alloc.cta_group::" #GROUP                                              \
                   ".sync.aligned.shared::cta.b32 [%0], 512;" ::"r"(sharedAddress(&result))        \
                   : "memory");                                                                    \
      asm volatile("tcgen05.relinquish_alloc_permit.cta_group::" #GROUP ".sync.aligned;");         \
    }                                                                                              \
    if (threadIdx.x == 0) {                                                                        \
      barrierInit(sharedAddress(&bar), 1);                                                         \
      barrierInitFence();                                                                          \
    }                                                                                              \
    loadOperands(imageA, imageB, shared);                                                          \
    everybody<GROUP>();                                                                            \
    uint32_t d = result;                                                                           \
    loadTensor(tensor, d);                                                                         \
    everybody<GROUP>();                                                                            \
    if (threadIdx.x == 0 && blockIdx.x == 0) {                                                     \
      Operation o = {d,                                                                            \
                     arguments.a + ((sharedAddress(shared) & 0x3ffff) >> 4),                       \
                     arguments.b + ((sharedAddress(shared + space) & 0x3ffff) >> 4),               \
                     d + arguments.columnA,                                                        \
                     d + arguments.columnScaleA,                                                   \
                     d + arguments.columnScaleB,                                                   \
                     arguments.instruction,                                                        \
                     arguments.accumulate};                                                        \
      __VA_ARGS__                                                                                  \
      if (GROUP == 2)                                                                              \
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster."          \
                     "multicast::cluster.b64 [%0], %1;" ::"r"(sharedAddress(&bar)),                \
                     "h"(uint16_t(3))                                                              \
                     : "memory");                                                                  \
      else                                                                                         \
        tensorCommit(sharedAddress(&bar));                                                         \
    }                                                                                              \
    barrierWait(sharedAddress(&bar), 0);                                                           \
    tensorFenceAfter();                                                                            \
    storeTensor(out, d);                                                                           \
    everybody<GROUP>();                                                                            \
    if (threadIdx.x < 32)                                                                          \
      asm volatile("tcgen05.dealloc.cta_group::" #GROUP ".sync.aligned.b32 %0, 512;" ::"r"(d));    \
  }

#define PREDICATE "{ .reg .pred p; setp.ne.u32 p, %4, 0;\ntcgen05.mma."
/// Both operands in shared memory.
#define SHARED(KIND)                                                                               \
  asm volatile(PREDICATE KIND " [%0], %1, %2, %3, p; }" ::"r"(o.d), "l"(o.a), "l"(o.b),            \
               "r"(o.instruction), "r"(o.accumulate)                                               \
               : "memory");
/// A in tensor memory.
#define TENSOR(KIND)                                                                               \
  asm volatile(PREDICATE KIND " [%0], [%1], %2, %3, p; }" ::"r"(o.d), "r"(o.tensorA), "l"(o.b),    \
               "r"(o.instruction), "r"(o.accumulate)                                               \
               : "memory");
#define SCALED(KIND)                                                                               \
  asm volatile(PREDICATE KIND " [%0], %1, %2, %3, [%5], [%6], p; }" ::"r"(o.d), "l"(o.a),          \
               "l"(o.b), "r"(o.instruction), "r"(o.accumulate), "r"(o.scaleA), "r"(o.scaleB)       \
               : "memory");
#define SCALED_TENSOR(KIND)                                                                        \
  asm volatile(PREDICATE KIND " [%0], [%1], %2, %3, [%5], [%6], p; }" ::"r"(o.d), "r"(o.tensorA),  \
               "l"(o.b), "r"(o.instruction), "r"(o.accumulate), "r"(o.scaleA), "r"(o.scaleB)       \
               : "memory");

#define BOTH(NAME, KIND, FORM)                                                                     \
  KERNEL(NAME##_1, 1, , FORM("cta_group::1.kind::" KIND))                                          \
  KERNEL(NAME##_2, 2, __cluster_dims__(2, 1, 1), FORM("cta_group::2.kind::" KIND))

BOTH(f16, "f16", SHARED)
BOTH(tf32, "tf32", SHARED)
BOTH(f8f6f4, "f8f6f4", SHARED)
BOTH(i8, "i8", SHARED)
BOTH(f16_tensor, "f16", TENSOR)
BOTH(tf32_tensor, "tf32.collector::a::fill", TENSOR)
BOTH(f8f6f4_tensor, "f8f6f4", TENSOR)
BOTH(i8_tensor, "i8", TENSOR)
BOTH(mxf8f6f4, "mxf8f6f4.block_scale.scale_vec::1X", SCALED)
BOTH(mxf8f6f4_tensor, "mxf8f6f4.block_scale", SCALED_TENSOR)
BOTH(mxf4, "mxf4.block_scale.scale_vec::2X", SCALED)
BOTH(mxf4_tensor, "mxf4.block_scale.scale_vec::2X", SCALED_TENSOR)
BOTH(nvf4, "mxf4nvf4.block_scale.scale_vec::4X", SCALED)
BOTH(nvf4_by32, "mxf4nvf4.block_scale.scale_vec::2X", SCALED)

/// Lanes that keep their accumulators, and an accumulator that is scaled first.
KERNEL(masked_1, 1, , {
  asm volatile(
      PREDICATE "cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %6, %7, %8}, p; }" ::"r"(o.d),
      "l"(o.a), "l"(o.b), "r"(o.instruction), "r"(o.accumulate), "r"(arguments.disabled[0]),
      "r"(arguments.disabled[1]), "r"(arguments.disabled[2]), "r"(arguments.disabled[3])
      : "memory");
})
KERNEL(masked_2, 2, __cluster_dims__(2, 1, 1), {
  asm volatile(PREDICATE "cta_group::2.kind::f16 [%0], %1, %2, %3, {%5, %6, %7, %8, %9, %10, %11, "
                         "%12}, p; }" ::"r"(o.d),
               "l"(o.a), "l"(o.b), "r"(o.instruction), "r"(o.accumulate),
               "r"(arguments.disabled[0]), "r"(arguments.disabled[1]), "r"(arguments.disabled[2]),
               "r"(arguments.disabled[3]), "r"(arguments.disabled[4]), "r"(arguments.disabled[5]),
               "r"(arguments.disabled[6]), "r"(arguments.disabled[7])
               : "memory");
})
KERNEL(scaled_accumulator, 1, , {
  asm volatile(PREDICATE "cta_group::1.kind::f16 [%0], %1, %2, %3, p, 3; }" ::"r"(o.d), "l"(o.a),
               "l"(o.b), "r"(o.instruction), "r"(o.accumulate)
               : "memory");
})
