//===- gemm_tcgen05.cu - C = A * B^T on Blackwell -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 128x128 tiles, k in steps of 64, a ring of four slots. Warp 0 loads by TMA,
// warp 1 multiplies, warps 2 to 5 bring the accumulator through shared memory to
// a TMA store. A is M x K, B is N x K, C is M x N, all f16.
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

constexpr int stages = 4, tileM = 128, tileN = 128, tileK = 64;
constexpr uint32_t bytesA = tileM * tileK * 2, bytesB = tileN * tileK * 2;

extern "C" __global__ void __launch_bounds__(192)
    gemm(const __grid_constant__ CUtensorMap mapA,
         const __grid_constant__ CUtensorMap mapB,
         const __grid_constant__ CUtensorMap mapC, int k) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  __shared__ __align__(8) uint64_t full[stages], empty[stages], done;
  __shared__ uint32_t tensorBase;
  int warp = threadIdx.x / 32;
  int row = blockIdx.y * tileM, column = blockIdx.x * tileN;
  int steps = k / tileK;
  uint32_t base = sharedAddress(tiles);

  if (warp == 0 && electOne()) {
    for (int s = 0; s < stages; ++s) {
      barrierInit(sharedAddress(&full[s]), 1);
      barrierInit(sharedAddress(&empty[s]), 1);
    }
    barrierInit(sharedAddress(&done), 1);
    barrierInitFence();
  }
  if (warp == 1) {
    tensorAlloc(sharedAddress(&tensorBase), 128);
    tensorRelinquish();
  }
  tensorFenceBefore();
  __syncthreads();
  tensorFenceAfter();
  uint32_t accumulator = tensorBase;

  if (warp == 0) {
    if (electOne()) {
      for (int i = 0; i < steps; ++i) {
        int s = i % stages;
        barrierWait(sharedAddress(&empty[s]), (i / stages & 1) ^ 1);
        uint32_t bar = sharedAddress(&full[s]);
        barrierExpect(bar, bytesA + bytesB);
        uint32_t slot = base + s * (bytesA + bytesB);
        loadTile(slot, &mapA, bar, i * tileK, row);
        loadTile(slot + bytesA, &mapB, bar, i * tileK, column);
      }
    }
  } else if (warp == 1) {
    if (electOne()) {
      for (int i = 0; i < steps; ++i) {
        int s = i % stages;
        barrierWait(sharedAddress(&full[s]), i / stages & 1);
        tensorFenceAfter();
        uint32_t slot = base + s * (bytesA + bytesB);
        for (int kk = 0; kk < tileK / 16; ++kk)
          tensorMma(accumulator, tensorDescriptor(slot + kk * 32),
                    tensorDescriptor(slot + bytesA + kk * 32),
                    tensorInstruction(tileM, tileN), i > 0 || kk > 0);
        tensorCommit(sharedAddress(&empty[s]));
      }
      tensorCommit(sharedAddress(&done));
    }
  } else {
    barrierWait(sharedAddress(&done), 0);
    tensorFenceAfter();
    // The ring is idle now; its first slot becomes the output tile, as two
    // halves of 64 columns with rows of 128 bytes.
    int quarter = warp % 4;
    int line = quarter * 32 + threadIdx.x % 32;
    for (int n = 0; n < tileN; n += 16) {
      uint32_t r[16];
      tensorLoad16(accumulator + (quarter * 32 << 16) + n, r);
      tensorWaitLoad();
      uint32_t packed[8];
      for (int j = 0; j < 8; ++j) {
        __half2 h = __floats2half2_rn(__uint_as_float(r[2 * j]),
                                      __uint_as_float(r[2 * j + 1]));
        packed[j] = *reinterpret_cast<uint32_t *>(&h);
      }
      for (int j = 0; j < 2; ++j) {
        int chunk = (n % 64) / 8 + j;
        uint32_t to = (n / 64) * (tileM * 128) + line * 128 +
                      ((chunk ^ (line % 8)) * 16);
        *reinterpret_cast<uint4 *>(tiles + to) =
            make_uint4(packed[4 * j], packed[4 * j + 1], packed[4 * j + 2],
                       packed[4 * j + 3]);
      }
    }
    fenceAsyncShared();
    tensorFenceBefore();
    namedBarrier(1, 128);
    if (warp == 2 && electOne()) {
      storeTile(&mapC, base, column, row);
      storeTile(&mapC, base + tileM * 128, column + 64, row);
      bulkCommit();
      bulkWaitRead();
    }
  }
  __syncwarp();
  __syncthreads();
  if (warp == 1)
    tensorFree(accumulator, 128);
}
