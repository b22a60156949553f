//===- gemm_wgmma.cu - C = A * B^T on Hopper ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 128x64 tiles, k in steps of 64, a ring of three slots. One producer warp, two
// consumer warpgroups with 64 rows each. A is M x K, B is N x K, both f16; C is
// M x N in f32.
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"

constexpr int stages = 3, tileM = 128, tileN = 64, tileK = 64;
constexpr uint32_t bytesA = tileM * tileK * 2, bytesB = tileN * tileK * 2;

extern "C" __global__ void __launch_bounds__(384)
    gemm(const __grid_constant__ CUtensorMap mapA,
         const __grid_constant__ CUtensorMap mapB, float *c, int n, int k) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  __shared__ __align__(8) uint64_t full[stages], empty[stages];
  int group = threadIdx.x / 128;
  int row = blockIdx.y * tileM, column = blockIdx.x * tileN;
  int steps = k / tileK;
  uint32_t base = sharedAddress(tiles);
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      barrierInit(sharedAddress(&full[s]), 1);
      barrierInit(sharedAddress(&empty[s]), 2);
    }
    barrierInitFence();
  }
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x / 32 == 0 && electOne()) {
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
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  int half = group - 1;
  float d[32];
  for (int i = 0; i < steps; ++i) {
    int s = i % stages;
    barrierWait(sharedAddress(&full[s]), i / stages & 1);
    uint32_t slot = base + s * (bytesA + bytesB);
    wgmmaFence();
    for (int kk = 0; kk < tileK / 16; ++kk)
      wgmma64(d, wgmmaDescriptor(slot + half * 64 * 128 + kk * 32),
              wgmmaDescriptor(slot + bytesA + kk * 32), i > 0 || kk > 0);
    wgmmaCommit();
    wgmmaWait<0>();
    namedBarrier(1 + half, 128);
    if (threadIdx.x % 128 == 0)
      barrierArrive(sharedAddress(&empty[s]));
  }
  int t = threadIdx.x % 128;
  for (int i = 0; i < 32; ++i) {
    int r = row + half * 64 + t / 4 % 8 + 16 * (t / 32) + 8 * (i / 2 % 2);
    c[r * n + column + 2 * (t % 4) + i % 2 + 8 * (i / 4)] = d[i];
  }
}
