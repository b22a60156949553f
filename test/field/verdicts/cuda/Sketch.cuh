//===-- Sketch.cuh - PTX instructions for sketches ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#define SKETCH extern "C" __global__ void

using Barrier = uint64_t;

__device__ inline uint32_t address(const void *pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

__device__ inline void init(Barrier &barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(count) : "memory");
}

__device__ inline void publishBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline bool tryWait(Barrier &barrier, int parity) {
  int done;
  asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.b32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(address(&barrier)), "r"(parity)
               : "memory");
  return done;
}

__device__ inline void wait(Barrier &barrier, int parity) {
  while (!tryWait(barrier, parity)) {
  }
}

__device__ inline void arrive(Barrier &barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&barrier)) : "memory");
}

__device__ inline void arriveAndExpect(Barrier &barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(bytes) : "memory");
}

__device__ inline void loadBulk(void *target, const void *source, int bytes, Barrier &barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(target)),
               "l"(source), "r"(bytes), "r"(address(&barrier))
               : "memory");
}

__device__ inline void storeBulk(void *target, const void *source, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(target), "r"(address(source)), "r"(bytes) : "memory");
}

__device__ inline void commitBulk() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

template <int left> __device__ void waitBulkRead() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(left) : "memory"); }

template <int left> __device__ void waitBulk() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(left) : "memory"); }

__device__ inline void fenceProxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline void copy16(void *target, const void *source) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(target)), "l"(source) : "memory");
}

__device__ inline void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int left> __device__ void waitCopies() { asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory"); }

__device__ inline void namedBarrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ inline void namedArrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ inline void clusterBarrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ inline uint32_t clusterRank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline uint32_t peerAddress(const void *pointer, uint32_t rank) {
  uint32_t peer;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(address(pointer)), "r"(rank));
  return peer;
}

// Matrix descriptors of K-major f16 tiles with rows of 128 bytes and the swizzle of 128 bytes.
__device__ inline uint64_t descriptor(const void *tile) {
  return uint64_t(address(tile) >> 4 & 0x3fff) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

// f16 elements of such a tile.
__device__ inline int swizzled(int row, int column) { return row * 64 + (column ^ (row & 7) * 8); }
