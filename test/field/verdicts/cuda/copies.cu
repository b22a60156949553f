//===-- copies.cu - Sketches of bugs around bulk copies and mbarriers -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FIXED selects the twin with the published fix. No sketch contains code of the project with the bug.
//
//===----------------------------------------------------------------------===//

#include "Sketch.cuh"

constexpr int width = 128; // floats in a slot

// DeepEP#621, repaired by #642: a warp reads a slot by ld.shared, one lane releases it, and a bulk copy of another warp
// overwrites it. The fix is fence.proxy.async between reads and arrival. SYNC adds the __syncwarp that neither side has.
SKETCH read_then_overwrite(const float *source, float *out, int chunks) {
  constexpr int slots = 3;
  __shared__ alignas(128) float ring[slots][width];
  __shared__ Barrier full[slots], empty[slots];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < slots; ++i) {
      init(full[i], 1);
      init(empty[i], 1);
    }
    publishBarriers();
  }
  __syncthreads();
  if (warp == 1) {
    if (lane != 0)
      return;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      int slot = chunk % slots, round = chunk / slots;
      wait(empty[slot], (round + 1) & 1);
      arriveAndExpect(full[slot], width * 4);
      loadBulk(ring[slot], source + chunk * width, width * 4, full[slot]);
    }
    return;
  }
  float4 total = {};
  for (int chunk = 0; chunk < chunks; ++chunk) {
    int slot = chunk % slots;
    wait(full[slot], chunk / slots & 1);
    float4 part = reinterpret_cast<float4 *>(ring[slot])[lane];
    total.x += part.x;
    total.y += part.y;
    total.z += part.z;
    total.w += part.w;
#ifdef FIXED
    fenceProxy();
#endif
#ifdef SYNC
    __syncwarp();
#endif
    if (lane == 0)
      arrive(empty[slot]);
  }
  reinterpret_cast<float4 *>(out)[lane] = total;
}

// flashinfer#3630, TensorRT-LLM#15338: the first poll of a step uses the right barrier; if it fails, the loop polls the barrier that
// a pointer names, which is only advanced at the end of the step before. The fix polls the barrier of this step.
SKETCH stale_pointer(const float *source, float *out, int chunks) {
  constexpr int slots = 2;
  __shared__ alignas(128) float ring[slots][width];
  __shared__ Barrier full[slots], empty[slots];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < slots; ++i) {
      init(full[i], 1);
      init(empty[i], 32);
    }
    publishBarriers();
  }
  __syncthreads();
  if (warp == 0) {
    for (int chunk = 0; lane == 0 && chunk < chunks; ++chunk) {
      int slot = chunk % slots;
      wait(empty[slot], (chunk / slots + 1) & 1);
      arriveAndExpect(full[slot], width * 4);
      loadBulk(ring[slot], source + chunk * width, width * 4, full[slot]);
    }
    return;
  }
  float total[4] = {};
  Barrier *polled = &full[0];
  for (int chunk = 0; chunk < chunks; ++chunk) {
    int slot = chunk % slots, parity = chunk / slots & 1;
    bool ready = tryWait(full[slot], parity);
#ifdef FIXED
    polled = &full[slot];
#endif
    while (!ready)
      ready = tryWait(*polled, parity);
    for (int i = 0; i < 4; ++i)
      total[i] += ring[slot][i * 32 + lane];
    arrive(empty[slot]);
    polled = &full[slot];
  }
  for (int i = 0; i < 4; ++i)
    out[i * 32 + lane] = total[i];
}

// DeepEP#399: the mbarrier lies inside the bytes that its copy writes. The fix moves it behind them.
SKETCH barrier_in_copy(const float *source, float *out) {
  __shared__ alignas(128) char memory[width * 4 + 16];
#ifdef FIXED
  Barrier &full = *reinterpret_cast<Barrier *>(memory + width * 4);
#else
  Barrier &full = *reinterpret_cast<Barrier *>(memory + width * 4 - 16);
#endif
  int lane = threadIdx.x;
  if (lane == 0) {
    init(full, 1);
    publishBarriers();
    arriveAndExpect(full, width * 4);
    loadBulk(memory, source, width * 4, full);
  }
  __syncwarp();
  wait(full, 0);
  for (int i = 0; i < 3; ++i)
    out[i * 32 + lane] = reinterpret_cast<float *>(memory)[i * 32 + lane];
}

// TileOPs#1550: a persistent block refills its staging tile while the bulk store of the tile before may still read it. The fix
// awaits the reads of the store. A block with one tile has no such overlap.
SKETCH refilled_staging(const float *source, float *out, int tiles) {
  __shared__ alignas(128) float staging[width];
  int thread = threadIdx.x;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float value = source[tile * width + thread];
#ifdef FIXED
    if (thread == 0)
      waitBulkRead<0>();
    __syncthreads();
#endif
    staging[thread] = value * 3;
    fenceProxy();
    __syncthreads();
    if (thread == 0) {
      storeBulk(out + tile * width, staging, width * 4);
      commitBulk();
    }
  }
  if (thread == 0)
    waitBulk<0>();
}

// cutlass#3636: a ring of two staging tiles, of which one store may still be reading. Each output tile restarts at slot 0, so with
// three stores for a tile the slot is the one that the last store reads. The fix keeps the position in the ring.
SKETCH restarted_ring(const float *source, float *out, int tiles) {
  __shared__ alignas(128) float staging[2][width];
  int thread = threadIdx.x;
  int position = 0;
  for (int tile = 0; tile < tiles; ++tile) {
#ifndef FIXED
    position = 0;
#endif
    for (int part = 0; part < 3; ++part, ++position) {
      int at = (tile * 3 + part) * width;
      float value = source[at + thread];
      if (thread == 0)
        waitBulkRead<1>();
      __syncthreads();
      staging[position % 2][thread] = -value;
      fenceProxy();
      __syncthreads();
      if (thread == 0) {
        storeBulk(out + at, staging[position % 2], width * 4);
        commitBulk();
      }
    }
  }
  if (thread == 0)
    waitBulk<0>();
}

// flash-attention#2760: the loading warp and the computing warps derive different tile counts of a split: the loading warp
// skips the tiles that the sparsity mask hides, the others do not. The fix derives both from the mask.
SKETCH tile_counts(const float *source, const int *mask, float *out, int tiles) {
  constexpr int slots = 2;
  __shared__ alignas(128) float ring[slots][width];
  __shared__ Barrier full[slots], empty[slots];
  int thread = threadIdx.x;
  if (thread == 0) {
    for (int i = 0; i < slots; ++i) {
      init(full[i], 1);
      init(empty[i], width);
    }
    publishBarriers();
  }
  __syncthreads();
  if (thread >= width) {
    if (thread != width)
      return;
    for (int tile = 0, loaded = 0; tile < tiles; ++tile) {
      if (!mask[tile])
        continue;
      int slot = loaded % slots;
      wait(empty[slot], (loaded / slots + 1) & 1);
      arriveAndExpect(full[slot], width * 4);
      loadBulk(ring[slot], source + tile * width, width * 4, full[slot]);
      ++loaded;
    }
    return;
  }
  int count = tiles;
#ifdef FIXED
  count = 0;
  for (int tile = 0; tile < tiles; ++tile)
    count += mask[tile] != 0;
#endif
  float total = 0;
  for (int i = 0; i < count; ++i) {
    wait(full[i % slots], i / slots & 1);
    total += ring[i % slots][width - 1 - thread];
    arrive(empty[i % slots]);
  }
  out[thread] = total;
}

// tilelang#2410, repaired by #2423: a ring carries tile numbers from a scheduling warp to three consumer warps. A consumer releases
// its slot before it reads the number. The fix reads first. COUNT 1 is the second error: the empty barrier counts one of
// three consumers.
SKETCH early_release(const int *numbers, int *out, int count) {
  constexpr int slots = 3;
  __shared__ int ring[slots];
  __shared__ Barrier full[slots], empty[slots];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0)
    for (int i = 0; i < slots; ++i) {
      init(full[i], 1);
      init(empty[i], COUNT);
    }
  __syncthreads();
  if (lane != 0)
    return;
  int total = 0;
  for (int i = 0; i < count; ++i) {
    int slot = i % slots, round = i / slots;
    if (warp == 3) {
      wait(empty[slot], (round + 1) & 1);
      ring[slot] = numbers[i];
      arrive(full[slot]);
      continue;
    }
    wait(full[slot], round & 1);
#ifdef FIXED
    int number = ring[slot];
    arrive(empty[slot]);
#else
    arrive(empty[slot]);
    int number = ring[slot];
#endif
    total = total * 3 + number;
  }
  if (warp != 3)
    out[warp] = total;
}

// tilelang#2674: phases of a persistent kernel start at 0 for every tile, although the barriers live on. Right if the steps of a tile
// are a multiple of twice the slots, or if there is one tile. The fix carries the count of steps from tile to tile.
SKETCH restarted_phases(const float *source, float *out, int tiles, int steps) {
  constexpr int slots = 2;
  __shared__ alignas(128) float ring[slots][width];
  __shared__ Barrier full[slots], empty[slots];
  int thread = threadIdx.x;
  if (thread == 0) {
    for (int i = 0; i < slots; ++i) {
      init(full[i], 1);
      init(empty[i], width);
    }
    publishBarriers();
  }
  __syncthreads();
  bool loads = thread >= width;
  if (thread > width)
    return;
  int position = 0;
  for (int tile = 0; tile < tiles; ++tile) {
#ifndef FIXED
    position = 0;
#endif
    float total = 0;
    for (int step = 0; step < steps; ++step, ++position) {
      int slot = position % slots, round = position / slots;
      if (loads) {
        wait(empty[slot], (round + 1) & 1);
        arriveAndExpect(full[slot], width * 4);
        loadBulk(ring[slot], source + (tile * steps + step) * width, width * 4, full[slot]);
      } else {
        wait(full[slot], round & 1);
        total += ring[slot][thread];
        arrive(empty[slot]);
      }
    }
    if (!loads)
      out[tile * width + thread] = total;
  }
}

// facebookexperimental/triton#2292: a block stores into the shared memory of its peer before the peer has started and
// initialized it. The fix is a cluster barrier after the initialization.
SKETCH __cluster_dims__(2, 1, 1) early_remote_store(int *out) {
  __shared__ int box[32];
  int lane = threadIdx.x;
  uint32_t rank = clusterRank();
  box[lane] = -1;
#ifdef FIXED
  clusterBarrier();
#endif
  uint32_t peer = peerAddress(&box[lane], rank ^ 1);
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(peer), "r"(100 + lane) : "memory");
  clusterBarrier();
  out[rank * 32 + lane] = box[lane];
}
