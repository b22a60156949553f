//===-- threads.cu - Sketches of bugs between threads of a block ----------===//
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

// sglang#32467: thread w clears slot w while lane 0 of warp w may already have stored its result there. The fix is a barrier
// between. With lengths that are all equal, the lost maximum does not matter: results are right by luck.
SKETCH plan_lengths(const int *lengths, int *range, int count) {
  constexpr int warps = 8;
  __shared__ int most[warps], least[warps];
  int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  if (thread < warps) {
    most[thread] = 0;
    least[thread] = 1 << 30;
  }
#ifdef FIXED
  __syncthreads();
#endif
  int high = 0, low = 1 << 30;
  for (int i = thread; i < count; i += blockDim.x) {
    high = max(high, lengths[i]);
    low = min(low, lengths[i]);
  }
  high = __reduce_max_sync(~0u, high);
  low = __reduce_min_sync(~0u, low);
  if (lane == 0) {
    most[warp] = high;
    least[warp] = low;
  }
  __syncthreads();
  if (thread == 0) {
    for (int i = 1; i < warps; ++i) {
      most[0] = max(most[0], most[i]);
      least[0] = min(least[0], least[i]);
    }
    range[0] = least[0];
    range[1] = most[0];
  }
}

// llama.cpp#13294: a block multiplies several tiles of rows that a list of ids selects. The ids of the next tile overwrite those
// that other warps still use for the stores of this one. The fix is a barrier at the end of the loop.
SKETCH rows_by_id(const int *ids, const float *values, float *out, int tiles) {
  constexpr int rows = 32;
  __shared__ int selected[rows];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x < rows)
      selected[threadIdx.x] = ids[tile * rows + threadIdx.x];
    __syncthreads();
    for (int row = warp; row < rows; row += 4)
      out[selected[row] * 32 + lane] = values[(tile * rows + row) * 32 + lane] * 2;
#ifdef FIXED
    __syncthreads();
#endif
  }
}

// llama.cpp#13742: a tile whose mask hides everything is skipped by `continue`. A warp that skips stores the next mask while others
// still test this one. The fix is a barrier before `continue`.
SKETCH skip_masked(const float *masks, const float *scores, float *out, int tiles) {
  constexpr int width = 128;
  __shared__ float mask[width];
  int thread = threadIdx.x;
  float total = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    mask[thread] = masks[tile * width + thread];
    __syncthreads();
    bool hidden = true;
    for (int i = 0; i < width; ++i)
      hidden = hidden && mask[i] < -1e30f;
    if (hidden) {
#ifdef FIXED
      __syncthreads();
#endif
      continue;
    }
    total += scores[tile * width + thread] + mask[width - 1 - thread];
    __syncthreads();
  }
  out[thread] = total;
}

// llama.cpp#13438 and #13469: pairs of warps combine their partial results. State 0 has no barrier before the combination. State 1
// has one that only the combining warps execute, so it pairs with the other warps' next barrier. State 2 is right.
SKETCH combine_pairs(const float *values, float *out, int tiles) {
  __shared__ float partial[128], combined[64];
  int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  float total = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    partial[thread] = values[tile * 128 + thread];
#if STATE == 2
    __syncthreads();
#endif
    if (warp % 2 == 0) {
#if STATE == 1
      __syncthreads();
#endif
      combined[warp / 2 * 32 + lane] = partial[thread] + partial[thread + 32];
    }
    __syncthreads();
    total += combined[(63 - thread) & 63];
#if STATE == 2
    __syncthreads();
#endif
  }
  out[thread] = total;
}

// flashinfer#3439: each warp awaits its own cp.async and then reads what all warps have copied. The fix is a block barrier.
SKETCH awaited_by_warp(const float4 *source, float *out) {
  __shared__ alignas(16) float tile[512];
  int thread = threadIdx.x;
  copy16(tile + 4 * thread, source + thread);
  commitCopies();
  waitCopies<0>();
#ifdef FIXED
  __syncthreads();
#else
  __syncwarp();
#endif
  float total = 0;
  for (int i = 0; i < 4; ++i)
    total += tile[128 * i + thread];
  out[thread] = total;
}

// Fuser#2000: the last prefetch of a pipelined loop is not awaited, and the buffer is used for something else. The fix drains the
// copies before the barrier after the loop.
SKETCH undrained(const float4 *source, float *out, int steps) {
  __shared__ alignas(16) float ring[2][512];
  int thread = threadIdx.x;
  float total = 0;
  copy16(&ring[0][4 * thread], source + thread);
  commitCopies();
  for (int step = 0; step < steps; ++step) {
    // Beyond the last step, it loads the first tile once more.
    copy16(&ring[(step + 1) % 2][4 * thread], source + (step + 1) % steps * 128 + thread);
    commitCopies();
    waitCopies<1>();
    __syncthreads();
    total += ring[step % 2][511 - thread];
    __syncthreads();
  }
#ifdef FIXED
  waitCopies<0>();
  __syncthreads();
#endif
  ring[steps % 2][4 * thread] = total;
  __syncthreads();
  out[thread] = ring[steps % 2][4 * (127 - thread)];
}

// flashinfer#2996: in warps 4 to 11, one elected lane works in a loop and then executes the barrier; the other 31 lanes skip it.
// The fix has the barrier where all threads execute it.
SKETCH skipped_barrier(const float *source, float *out, int steps) {
  __shared__ float results[8];
  __shared__ Barrier ready;
  int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  if (thread == 0)
    init(ready, 1);
  __syncthreads();
  if (warp >= 4) {
    if (lane == 0) {
      float total = 0;
      for (int step = 0; step < steps; ++step)
        total += source[step * 8 + warp - 4];
      results[warp - 4] = total;
#ifndef FIXED
      __syncthreads();
#endif
    }
#ifndef FIXED
    wait(ready, 0);
#endif
  }
#ifndef FIXED
  else
    __syncthreads();
#else
  __syncthreads();
#endif
  if (thread == 0)
    arrive(ready);
  if (thread < 8)
    out[thread] = results[thread];
}

// cudnn-frontend#426: 32 lanes store and one of them arrives for all. Racecheck reports it; results are right, because the warp
// runs in step. The fix is __syncwarp before the arrival.
SKETCH one_lane_arrives(const float *source, float *out) {
  __shared__ float tile[32];
  __shared__ Barrier full;
  int thread = threadIdx.x;
  if (thread == 0)
    init(full, 1);
  __syncthreads();
  if (thread < 32) {
    tile[thread] = source[thread];
#ifdef FIXED
    __syncwarp();
#endif
    if (thread == 0)
      arrive(full);
  } else {
    wait(full, 0);
    out[thread - 32] = tile[63 - thread];
  }
}
