//===- blackwell.cu - What came with sm_100 beside tcgen05 ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"
#include <cuda_fp8.h>

struct Rows {
  int first, row[4];
};

/// Four rows that need not be neighbors, in and out again at other places.
extern "C" __global__ void gather(const __grid_constant__ CUtensorMap from,
                                  const __grid_constant__ CUtensorMap to,
                                  const __grid_constant__ Rows in, const __grid_constant__ Rows out,
                                  uint32_t *seen) {
  __shared__ __align__(1024) uint32_t tile[128];
  __shared__ __align__(8) uint64_t bar;
  uint32_t address = sharedAddress(&bar);
  if (threadIdx.x == 0) {
    barrierInit(address, 1);
    barrierInitFence();
  }
  __syncwarp();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%0, {%1, %2, %3, %4, "
                 "%5}];" ::"l"(&from),
                 "r"(in.first), "r"(in.row[0]), "r"(in.row[1]), "r"(in.row[2]), "r"(in.row[3])
                 : "memory");
    barrierExpect(address, 512);
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::"
                 "bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(sharedAddress(tile)),
                 "l"(&from), "r"(address), "r"(in.first), "r"(in.row[0]), "r"(in.row[1]),
                 "r"(in.row[2]), "r"(in.row[3])
                 : "memory");
  }
  barrierWait(address, 0);
  for (int i = threadIdx.x; i < 128; i += 32)
    seen[i] = tile[i];
  __syncwarp();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%1, {%2, "
                 "%3, %4, %5, %6}], [%0];" ::"r"(sharedAddress(tile)),
                 "l"(&to), "r"(out.first), "r"(out.row[0]), "r"(out.row[1]), "r"(out.row[2]),
                 "r"(out.row[3])
                 : "memory");
    bulkCommit();
    bulkWait();
  }
}

/// A pair of blocks: both load, the barrier of the even one hears of all bytes.
/// Then the even block multicasts by a gather for both.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    pair(const __grid_constant__ CUtensorMap map, const __grid_constant__ CUtensorMap rows,
         uint32_t *out) {
  __shared__ __align__(1024) uint32_t tile[256], gathered[128];
  __shared__ __align__(8) uint64_t bar, gatherBar;
  uint32_t rank, even = sharedAddress(&bar) & 0xfeffffff, here = sharedAddress(&gatherBar);
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    barrierInit(sharedAddress(&bar), 1);
    barrierInit(here, 1);
    barrierInitFence();
    if (rank == 0)
      barrierExpect(sharedAddress(&bar), 2048);
    barrierExpect(here, 512);
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::"
        "bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(sharedAddress(tile)),
        "l"(&map), "r"(even), "r"(0), "r"(int(rank) * 8)
        : "memory");
    if (rank == 0)
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::"
                   "complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], "
                   "%8;" ::"r"(sharedAddress(gathered)),
                   "l"(&rows), "r"(here), "r"(0), "r"(5), "r"(1), "r"(3), "r"(0), "h"(uint16_t(3))
                   : "memory");
  }
  if (rank == 0)
    barrierWait(sharedAddress(&bar), 0);
  barrierWait(here, 0);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  for (int i = threadIdx.x; i < 256; i += 32)
    out[384 * rank + i] = tile[i];
  for (int i = threadIdx.x; i < 128; i += 32)
    out[384 * rank + 256 + i] = gathered[i];
}

/// 4- and 6-bit elements, padded to 16 bytes for 16 of them; 6-bit ones go back.
extern "C" __global__ void padded(const __grid_constant__ CUtensorMap four,
                                  const __grid_constant__ CUtensorMap six,
                                  const __grid_constant__ CUtensorMap back, uint32_t *out) {
  __shared__ __align__(1024) uint8_t tile[2][4 * 128];
  __shared__ __align__(8) uint64_t bar;
  uint32_t address = sharedAddress(&bar);
  for (int i = threadIdx.x; i < 1024; i += 32)
    tile[0][i] = 0xee; // the padding is not written
  fenceAsyncShared();
  if (threadIdx.x == 0)
    barrierInit(address, 1);
  __syncwarp();
  if (threadIdx.x == 0) {
    barrierExpect(address, 4 * 64 + 4 * 96);
    loadTile(sharedAddress(tile[0]), &four, address, 128, 1);
    loadTile(sharedAddress(tile[1]), &six, address, 0, 2);
  }
  barrierWait(address, 0);
  for (int i = threadIdx.x; i < 256; i += 32)
    out[i] = reinterpret_cast<uint32_t *>(tile)[i];
  __syncwarp();
  if (threadIdx.x == 0) {
    storeTile(&back, sharedAddress(tile[1]), 128, 0);
    bulkCommit();
    bulkWait();
  }
}

/// Blocks take over the work of blocks that have not started.
extern "C" __global__ void steal(uint32_t *done) {
  __shared__ __align__(16) uint4 response;
  __shared__ __align__(8) uint64_t bar;
  uint32_t address = sharedAddress(&bar), block = blockIdx.x + gridDim.x * blockIdx.y;
  if (threadIdx.x == 0)
    barrierInit(address, 1);
  __syncthreads();
  for (uint32_t phase = 0;; phase ^= 1) {
    if (threadIdx.x == 0) {
      barrierExpect(address, 16);
      asm volatile(
          "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
          "[%0], [%1];" ::"r"(sharedAddress(&response)),
          "r"(address)
          : "memory");
    }
    atomicAdd(&done[block], threadIdx.x + 1);
    barrierWait(address, phase);
    uint32_t canceled, x, y;
    asm volatile("{ .reg .b128 r; .reg .pred p; ld.shared.b128 r, [%3];\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
                 "selp.u32 %0, 1, 0, p; mov.u32 %1, 0; mov.u32 %2, 0;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, r;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %2, r; }"
                 : "=r"(canceled), "=r"(x), "=r"(y)
                 : "r"(sharedAddress(&response))
                 : "memory");
    fenceAsyncShared();
    __syncthreads();
    if (!canceled)
      return;
    block = x + gridDim.x * y;
  }
}

/// Arithmetic of two floats at once, of three operands, of a warp.
extern "C" __global__ void arithmetic(const float *in, float *out) {
  int t = threadIdx.x;
  float a = in[2 * t], b = in[2 * t + 1], *to = out + 16 * t;
  uint64_t pair, other, result;
  asm volatile("mov.b64 %0, {%2, %3}; mov.b64 %1, {%3, %2};"
               : "=l"(pair), "=l"(other)
               : "f"(a), "f"(b));
  auto put = [&] {
    asm volatile("mov.b64 {%0, %1}, %2;" : "=f"(to[0]), "=f"(to[1]) : "l"(result));
    to += 2;
  };
  asm volatile("add.rn.f32x2 %0, %1, %2;" : "=l"(result) : "l"(pair), "l"(other));
  put();
  asm volatile("mul.rz.f32x2 %0, %1, %2;" : "=l"(result) : "l"(pair), "l"(other));
  put();
  asm volatile("fma.rn.ftz.f32x2 %0, %1, %1, %2;" : "=l"(result) : "l"(pair), "l"(other));
  put();
  asm volatile("max.f32 %0, %1, %2, 0f3F800000;" : "=f"(*to) : "f"(a), "f"(b));
  ++to;
  asm volatile("min.NaN.abs.f32 %0, %1, %2, 0f40400000;" : "=f"(*to) : "f"(a), "f"(b));
  ++to;
  asm volatile("redux.sync.max.f32 %0, %1, 0xffffffff;" : "=f"(*to) : "f"(a));
  ++to;
  asm volatile("redux.sync.min.abs.f32 %0, %1, 0xffffffff;" : "=f"(*to) : "f"(b));
  ++to;
  __nv_bfloat162_raw two;
  two.x = __bfloat16_as_ushort(__float2bfloat16_rn(a));
  two.y = __bfloat16_as_ushort(__float2bfloat16_rn(b));
  *to++ = float(__nv_cvt_bfloat162raw_to_e8m0x2(two, __NV_SATFINITE, cudaRoundPosInf));
}

/// 32 bytes in one access.
extern "C" __global__ void wide(const uint32_t *in, uint32_t *out) {
  uint32_t r[8];
  asm volatile("ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),
                 "=r"(r[7])
               : "l"(in + 8 * threadIdx.x));
  asm volatile("st.global.v8.b32 [%8], {%7, %6, %5, %4, %3, %2, %1, %0};" ::"r"(r[0]), "r"(r[1]),
               "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]),
               "l"(out + 8 * threadIdx.x)
               : "memory");
}
