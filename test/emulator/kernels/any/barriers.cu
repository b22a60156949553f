//===- barriers.cu - Named barriers, clusters, their shared memory --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"
#include <cooperative_groups.h>

/// A producer warp and a consumer warp hand two buffers back and forth by four
/// named barriers; all warps take part in counting barriers before.
extern "C" __global__ void named(const uint32_t *in, uint32_t *out, int rounds) {
  __shared__ uint32_t buffer[2][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int odd = __syncthreads_count(in[threadIdx.x] & 1);
  int both = __syncthreads_and(in[threadIdx.x] != 0) | __syncthreads_or(in[threadIdx.x] == 7) << 1;
  if (warp == 0) {
    for (int i = 0; i < rounds; ++i) {
      if (i >= 2)
        asm volatile("barrier.sync %0, 64;" ::"r"(3 + i % 2) : "memory");
      buffer[i % 2][lane] = in[lane] + i;
      asm volatile("barrier.arrive %0, 64;" ::"r"(1 + i % 2) : "memory");
    }
  } else if (warp == 1) {
    uint32_t sum = 0;
    for (int i = 0; i < rounds; ++i) {
      asm volatile("bar.sync %0, 64;" ::"r"(1 + i % 2) : "memory");
      sum += buffer[i % 2][31 - lane] * (i + 1);
      if (i + 2 < rounds)
        asm volatile("bar.arrive %0, 64;" ::"r"(3 + i % 2) : "memory");
    }
    out[lane] = sum;
  } else {
    out[lane + 32] = odd;
    out[lane + 64] = both;
  }
}

/// Four blocks: each reads its neighbor's shared memory, adds to everybody's
/// sum and stores to the next but one.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster(const uint32_t *in, uint32_t *out) {
  namespace cg = cooperative_groups;
  __shared__ uint32_t values[64], received[64], sum;
  cg::cluster_group blocks = cg::this_cluster();
  uint32_t rank = blocks.block_rank(), t = threadIdx.x;
  values[t] = in[blockIdx.x * 64 + t];
  if (t == 0)
    sum = 0;
  blocks.sync();
  uint32_t *neighbor = blocks.map_shared_rank(values, (rank + 1) % 4);
  uint32_t fromNeighbor = neighbor[63 - t];
  for (uint32_t r = 0; r < 4; ++r)
    atomicAdd(blocks.map_shared_rank(&sum, r), values[t]);
  uint32_t remote, seenRank;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote)
               : "r"(sharedAddress(&received[t])), "r"((rank + 2) % 4));
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(seenRank) : "r"(remote));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote), "r"(values[t] * 3) : "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
  uint32_t *to = out + (blockIdx.x * 64 + t) * 6;
  to[0] = fromNeighbor;
  to[1] = sum;
  to[2] = received[t];
  to[3] = seenRank;
  uint32_t special;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(special));
  to[4] = special;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(special));
  to[5] = special;
}

/// Registers handed from one warpgroup to another, and grids that depend on
/// each other; neither changes results.
extern "C" __global__ void __launch_bounds__(256) hints(uint32_t *out) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (threadIdx.x < 128)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 152;");
  asm volatile("griddepcontrol.launch_dependents;");
  out[threadIdx.x] = threadIdx.x * 5;
}
