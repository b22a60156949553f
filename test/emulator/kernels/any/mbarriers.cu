//===- mbarriers.cu - All operations of mbarriers -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx.cuh"
#include <cuda/barrier>
#include <cuda/ptx>

// Barriers are initialized by hand.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace ptx = cuda::ptx;

/// Phases by tokens and by parity, arrivals with counts, dropped participants,
/// bytes by hand; one warp talks to itself, so every answer is known.
extern "C" __global__ void states(uint32_t *out) {
  __shared__ __align__(8) uint64_t bar;
  if (threadIdx.x != 0)
    return;
  uint32_t address = sharedAddress(&bar), *to = out;
  barrierInit(address, 5);
  auto test = [&](uint64_t token) {
    uint32_t done;
    asm volatile(
        "{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(address), "l"(token)
        : "memory");
    return done;
  };
  auto parity = [&](uint32_t p) {
    uint32_t done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], "
                 "%2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address), "r"(p)
                 : "memory");
    return done;
  };
  uint64_t token;
  uint32_t count;
  *to++ = parity(0);
  *to++ = parity(1);
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 2;"
               : "=l"(token)
               : "r"(address)
               : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(token));
  *to++ = count; // before the arrival
  *to++ = test(token);
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 2;"
               : "=l"(token)
               : "r"(address)
               : "memory");
  *to++ = test(token);
  // One participant leaves: this phase ends, and the next one needs four.
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];"
               : "=l"(token)
               : "r"(address)
               : "memory");
  *to++ = test(token);
  *to++ = parity(0) | parity(1) << 1;
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;"
               : "=l"(token)
               : "r"(address)
               : "memory");
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(token));
  *to++ = count;
  // Bytes hold the phase open although all have arrived.
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 48;" ::"r"(address)
               : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], 16;"
               : "=l"(token)
               : "r"(address)
               : "memory");
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(address) : "memory");
  *to++ = test(token);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 60;" ::"r"(address)
               : "memory");
  *to++ = test(token);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 4;" ::"r"(address)
               : "memory");
  *to++ = test(token);
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2, 10000; selp.u32 %0, "
               "1, 0, p; }"
               : "=r"(done)
               : "r"(address), "l"(token)
               : "memory");
  *to++ = done;
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address) : "memory");
  bar = 1234;
  *to++ = uint32_t(*reinterpret_cast<volatile uint64_t *>(&bar));
}

/// Warp 0 fills a slot, warp 1 empties it, by cuda::barrier of the CUDA library.
extern "C" __global__ void library(const uint32_t *in, uint32_t *out, int rounds) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier ready[2], filled[2];
  __shared__ uint32_t slot[2][32];
  int t = threadIdx.x;
  if (t == 0)
    for (int i = 0; i < 2; ++i) {
      init(&ready[i], 64);
      init(&filled[i], 64);
    }
  __syncthreads();
  if (t < 32) {
    for (int i = 0; i < rounds; ++i) {
      ready[i % 2].arrive_and_wait();
      slot[i % 2][t] = in[t] * (i + 1);
      (void)filled[i % 2].arrive();
    }
  } else {
    Barrier::arrival_token none[2] = {ready[0].arrive(), ready[1].arrive()};
    (void)none;
    uint32_t sum = 0;
    for (int i = 0; i < rounds; ++i) {
      filled[i % 2].arrive_and_wait();
      sum ^= slot[i % 2][63 - t] + i;
      (void)ready[i % 2].arrive();
    }
    out[t - 32] = sum;
  }
}

/// Remote arrivals, remote stores that count bytes, remote reductions: block 0
/// collects from all four blocks of the cluster.
extern "C" __global__ void __cluster_dims__(4, 1, 1) remote(const uint32_t *in, uint32_t *out) {
  __shared__ __align__(16) uint32_t values[4][32];
  __shared__ uint32_t sum;
  __shared__ __align__(8) uint64_t arrivals, bytes;
  uint32_t t = threadIdx.x, rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (rank == 0 && t == 0) {
    sum = 0;
    barrierInit(sharedAddress(&arrivals), 4 * 32);
    barrierInit(sharedAddress(&bytes), 1);
    barrierInitFence();
    barrierExpect(sharedAddress(&bytes), 4 * 32 * 8);
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  auto of0 = [](const void *p) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(sharedAddress(p)));
    return there;
  };
  uint32_t x = in[rank * 32 + t];
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                   of0(&values[rank][t])),
               "r"(x), "r"(of0(&bytes))
               : "memory");
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, "
      "[%2];" ::"r"(of0(&sum)),
      "r"(x), "r"(of0(&bytes))
      : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(of0(&arrivals))
               : "memory");
  if (rank == 0) {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bytes, 0))
      ;
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &arrivals, 0))
      ;
    uint32_t mixed = sum;
    for (int r = 0; r < 4; ++r)
      mixed = mixed * 5 + values[r][31 - t];
    out[t] = mixed;
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
