//===- copies.cu - cp.async and bulk copies -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"
#include <cuda_pipeline.h>

/// A ring of three slots that cp.async fills, each thread waiting for its own
/// groups; sizes of 4, 8 and 16 bytes, some of them cut short.
extern "C" __global__ void pipelined(const uint32_t *in, uint32_t *out, int tiles) {
  __shared__ __align__(16) uint32_t ring[3][128];
  int t = threadIdx.x;
  auto load = [&](int tile) {
    if (tile < tiles)
      __pipeline_memcpy_async(&ring[tile % 3][4 * t], in + tile * 128 + 4 * t, 16,
                              tile == tiles - 1 ? 8 : 0);
    __pipeline_commit();
  };
  load(0);
  load(1);
  uint32_t sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(1);
    __syncwarp();
    for (int i = 0; i < 4; ++i)
      sum = sum * 3 + ring[tile % 3][(4 * t + i * 33) % 128];
    __syncwarp();
    load(tile + 2);
  }
  out[t] = sum;
  __pipeline_wait_prior(0);
  uint32_t small = sharedAddress(&ring[0][4 * t]);
  __syncwarp();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n"
               "cp.async.ca.shared.global [%0+8], [%1+8], 8;\n"
               "cp.async.wait_all;" ::"r"(small),
               "l"(in + 4 * t)
               : "memory");
  out[32 + 3 * t] = ring[0][4 * t];
  out[33 + 3 * t] = ring[0][4 * t + 2];
  out[34 + 3 * t] = ring[0][4 * t + 3];
}

/// cp.async that reports to an mbarrier, with and without its own arrival.
extern "C" __global__ void arriving(const uint32_t *in, uint32_t *out) {
  __shared__ __align__(16) uint32_t tile[2][128];
  __shared__ __align__(8) uint64_t bars[2];
  int t = threadIdx.x;
  if (t == 0) {
    barrierInit(sharedAddress(&bars[0]), 32);
    barrierInit(sharedAddress(&bars[1]), 32);
  }
  __syncthreads();
  if (t < 32) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n"
                 "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%2];" ::"r"(
                     sharedAddress(&tile[0][4 * t])),
                 "l"(in + 4 * t), "r"(sharedAddress(&bars[0]))
                 : "memory");
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;\n"
        "cp.async.mbarrier.arrive.shared::cta.b64 [%2];" ::"r"(sharedAddress(&tile[1][4 * t])),
        "l"(in + 128 + 4 * t), "r"(sharedAddress(&bars[1]))
        : "memory");
    barrierArrive(sharedAddress(&bars[1]));
  } else {
    barrierWait(sharedAddress(&bars[0]), 0);
    barrierWait(sharedAddress(&bars[1]), 0);
    for (int i = t - 32; i < 128; i += 32)
      out[i] = tile[0][127 - i] + 7 * tile[1][i];
  }
}

/// Bulk copies: in, between the blocks of a cluster, out, and as a reduction.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    bulk(const uint32_t *in, uint32_t *out, uint32_t *sums, float *maxima) {
  __shared__ __align__(128) uint32_t tile[256], received[256], common[256];
  __shared__ __align__(8) uint64_t bar, remote, all;
  int t = threadIdx.x;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) {
    barrierInit(sharedAddress(&bar), 1);
    barrierInit(sharedAddress(&remote), 1);
    barrierInit(sharedAddress(&all), 1);
    barrierInitFence();
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (t == 0) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(in + 256 * blockIdx.x));
    barrierExpect(sharedAddress(&remote), 1024);
    barrierExpect(sharedAddress(&all), 1024);
    barrierExpect(sharedAddress(&bar), 1024);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "1024, [%2];" ::"r"(sharedAddress(tile)),
                 "l"(in + 256 * blockIdx.x), "r"(sharedAddress(&bar))
                 : "memory");
    // The first half for both by the even block, the second by the odd one.
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster [%0], [%1], 512, [%2], %3;" ::"r"(sharedAddress(common + 128 * rank)),
        "l"(in + 512 + 128 * rank), "r"(sharedAddress(&all)), "h"(uint16_t(3))
        : "memory");
  }
  barrierWait(sharedAddress(&bar), 0);
  __syncthreads();
  for (int i = t; i < 256; i += 32)
    tile[i] += i;
  fenceAsyncShared();
  __syncthreads();
  if (t == 0) {
    uint32_t there, thereBar;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(there)
                 : "r"(sharedAddress(received)), "r"(rank ^ 1));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(thereBar)
                 : "r"(sharedAddress(&remote)), "r"(rank ^ 1));
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], "
        "1024, [%2];" ::"r"(there),
        "r"(sharedAddress(tile)), "r"(thereBar)
        : "memory");
  }
  barrierWait(sharedAddress(&remote), 0);
  barrierWait(sharedAddress(&all), 0);
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(
                     out + 512 * blockIdx.x),
                 "r"(sharedAddress(received))
                 : "memory");
    bulkCommit();
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(
                     out + 512 * blockIdx.x + 256),
                 "r"(sharedAddress(common))
                 : "memory");
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 1024;" ::"l"(sums),
        "r"(sharedAddress(received))
        : "memory");
    bulkCommit();
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    bulkWait();
  }
  __syncthreads();
  // The sum of f16 pairs is left to the reduction: 1 and 2 of each block.
  __half2 *halves = reinterpret_cast<__half2 *>(tile);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  halves[t] = __floats2half2_rn(1, 2 + float(rank));
  fenceAsyncShared();
  __syncwarp();
  if (t == 0) {
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], 128;" ::"l"(
            maxima),
        "r"(sharedAddress(tile))
        : "memory");
    bulkCommit();
    bulkWait();
  }
}
