//===- tensors.cu - TMA: boxes of tensors of one to five dimensions -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

struct Coordinates {
  int c[5];
};

#define LOAD(D, COORDINATES, ...)                                                                  \
  asm volatile(                                                                                    \
      "cp.async.bulk.tensor." D                                                                    \
      ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" COORDINATES         \
      "}], [%2];" ::"r"(to),                                                                       \
      "l"(map), "r"(bar), __VA_ARGS__                                                              \
      : "memory")
#define STORE(D, COORDINATES, ...)                                                                 \
  asm volatile("cp.async.bulk.tensor." D ".global.shared::cta.tile.bulk_group [%1, {" COORDINATES  \
               "}], [%0];" ::"r"(to),                                                              \
               "l"(map), __VA_ARGS__                                                               \
               : "memory")
#define REDUCE(D, OP, COORDINATES, ...)                                                            \
  asm volatile("cp.reduce.async.bulk.tensor." D ".global.shared::cta." OP                          \
               ".tile.bulk_group [%1, {" COORDINATES "}], [%0];" ::"r"(to),                        \
               "l"(map), __VA_ARGS__                                                               \
               : "memory")
#define PREFETCH(D, COORDINATES, ...)                                                              \
  asm volatile("cp.async.bulk.prefetch.tensor." D ".L2.global.tile [%0, {" COORDINATES             \
               "}];" ::"l"(map),                                                                   \
               __VA_ARGS__                                                                         \
               : "memory")

DEVICE void loadBox(int rank, uint32_t to, const CUtensorMap *map, uint32_t bar, const int *c) {
  switch (rank) {
  case 1:
    PREFETCH("1d", "%1", "r"(c[0]));
    LOAD("1d", "%3", "r"(c[0]));
    break;
  case 2:
    PREFETCH("2d", "%1, %2", "r"(c[0]), "r"(c[1]));
    LOAD("2d", "%3, %4", "r"(c[0]), "r"(c[1]));
    break;
  case 3:
    LOAD("3d", "%3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]));
    break;
  case 4:
    LOAD("4d", "%3, %4, %5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    break;
  default:
    PREFETCH("5d", "%1, %2, %3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]));
    LOAD("5d", "%3, %4, %5, %6, %7", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]));
  }
}
DEVICE void storeBox(int rank, uint32_t to, const CUtensorMap *map, const int *c) {
  switch (rank) {
  case 1:
    STORE("1d", "%2", "r"(c[0]));
    break;
  case 2:
    STORE("2d", "%2, %3", "r"(c[0]), "r"(c[1]));
    break;
  case 3:
    STORE("3d", "%2, %3, %4", "r"(c[0]), "r"(c[1]), "r"(c[2]));
    break;
  case 4:
    STORE("4d", "%2, %3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    break;
  default:
    STORE("5d", "%2, %3, %4, %5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]));
  }
}

/// A box into shared memory, and that memory as it is, into a buffer.
extern "C" __global__ void load(const __grid_constant__ CUtensorMap map,
                                const __grid_constant__ Coordinates at, uint32_t *out, int rank,
                                int bytes) {
  extern __shared__ __align__(1024) uint32_t tile[];
  __shared__ __align__(8) uint64_t bar;
  uint32_t address = sharedAddress(&bar);
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
    barrierInit(address, 1);
  }
  __syncwarp();
  if (threadIdx.x == 0) {
    barrierExpect(address, bytes);
    loadBox(rank, sharedAddress(tile), &map, address, at.c);
  }
  barrierWait(address, 0);
  for (int i = threadIdx.x; i < bytes / 4; i += 32)
    out[i] = tile[i];
}

/// The other way: what lies in shared memory goes to the box.
extern "C" __global__ void store(const __grid_constant__ CUtensorMap map,
                                 const __grid_constant__ Coordinates at, const uint32_t *in,
                                 int rank, int bytes) {
  extern __shared__ __align__(1024) uint32_t tile[];
  for (int i = threadIdx.x; i < bytes / 4; i += 32)
    tile[i] = in[i];
  fenceAsyncShared();
  __syncwarp();
  if (threadIdx.x == 0) {
    storeBox(rank, sharedAddress(tile), &map, at.c);
    bulkCommit();
    bulkWait();
  }
}

/// Reductions of a 2-D box into two tensors.
extern "C" __global__ void reduce(const __grid_constant__ CUtensorMap sums,
                                  const __grid_constant__ CUtensorMap maxima, const int *in) {
  extern __shared__ __align__(1024) uint32_t tile[];
  for (int i = threadIdx.x; i < 256; i += 32)
    tile[i] = in[256 * blockIdx.x + i];
  fenceAsyncShared();
  __syncwarp();
  if (threadIdx.x == 0) {
    uint32_t to = sharedAddress(tile);
    const CUtensorMap *map = &sums;
    REDUCE("2d", "add", "%2, %3", "r"(0), "r"(4));
    map = &maxima;
    REDUCE("2d", "max", "%2, %3", "r"(8), "r"(0));
    bulkCommit();
    bulkWait();
  }
}

/// Each block of a cluster loads its quarter of a box for all four.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    multicast(const __grid_constant__ CUtensorMap map, uint32_t *out) {
  extern __shared__ __align__(1024) uint32_t tile[];
  __shared__ __align__(8) uint64_t bar;
  uint32_t address = sharedAddress(&bar), rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    barrierInit(address, 1);
    barrierInitFence();
    barrierExpect(address, 4 * 1024);
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    // Block 2 leaves out block 0, which loads that part for itself.
    uint16_t mask = rank == 2 ? 0xe : 0xf;
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
                 "multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(
                     sharedAddress(tile) + rank * 1024),
                 "l"(&map), "r"(address), "r"(0), "r"(int(rank) * 8), "h"(mask),
                 "l"(uint64_t(0x14F0000000000000))
                 : "memory");
    if (rank == 0)
      loadTile(sharedAddress(tile) + 2048, &map, address, 0, 16);
  }
  barrierWait(address, 0);
  for (int i = threadIdx.x; i < 1024; i += 32)
    out[1024 * blockIdx.x + i] = tile[i];
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/// A map that the kernel edits itself: another base and height.
extern "C" __global__ void edit(const __grid_constant__ CUtensorMap map, CUtensorMap *edited,
                                const uint32_t *other, uint32_t *out) {
  extern __shared__ __align__(1024) uint32_t tile[];
  __shared__ __align__(128) CUtensorMap copy;
  __shared__ __align__(8) uint64_t bar;
  uint32_t address = sharedAddress(&bar), t = threadIdx.x;
  if (t == 0)
    barrierInit(address, 1);
  reinterpret_cast<uint32_t *>(&copy)[t] = reinterpret_cast<const uint32_t *>(&map)[t];
  __syncwarp();
  if (t == 0) {
    uint32_t local = sharedAddress(&copy);
    asm volatile(
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(local),
        "l"(other)
        : "memory");
    asm volatile(
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(local), "r"(5)
        : "memory");
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
      "[%0], [%1], 128;" ::"l"(edited),
      "r"(sharedAddress(&copy))
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(edited) : "memory");
  if (t == 7) { // the warp has copied the map together
    barrierExpect(address, 1024);
    loadTile(sharedAddress(tile), edited, address, 0, 0);
  }
  barrierWait(address, 0);
  for (int i = t; i < 256; i += 32)
    out[i] = tile[i];
}
