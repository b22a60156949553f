//===- ArchitectureTest.cpp - Published figures of each target ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Hardware/Architecture.h"
#include "Hardware/Queues.h"
#include "gtest/gtest.h"

using namespace penstock::hw;

namespace {

TEST(Architecture, Limits) {
  EXPECT_EQ(findArchitecture("sm_90a")->limits.sharedBytesPerBlock, 227 * 1024);
  EXPECT_EQ(findArchitecture("sm_90a")->limits.tensorColumns, 0);
  EXPECT_EQ(findArchitecture("sm_100a")->limits.tensorColumns, 512);
  // SXM boards: H100 has 132 multiprocessors, B200 has 148.
  EXPECT_EQ(findArchitecture("sm_90a")->limits.multiprocessors, 132);
  EXPECT_EQ(findArchitecture("sm_100a")->limits.multiprocessors, 148);
  // A100, and graphics cards.
  EXPECT_EQ(findArchitecture("sm_80")->limits.sharedBytesPerBlock, 163 * 1024);
  for (const char *card : {"sm_86", "sm_89", "sm_120a"})
    EXPECT_EQ(findArchitecture(card)->limits.sharedBytesPerBlock, 99 * 1024);
  EXPECT_EQ(findArchitecture("sm_70"), nullptr);
}

// PTX ISA: .block_scale of tcgen05.mma needs sm_100a, that of mma.sync sm_120a.
TEST(Architecture, BlockScales) {
  for (const Architecture &architecture : architectures()) {
    BlockScales expected = architecture.name == "sm_100a"   ? BlockScales::Tcgen05Mma
                           : architecture.name == "sm_120a" ? BlockScales::MmaSync
                                                            : BlockScales::None;
    EXPECT_EQ(architecture.scales, expected) << architecture.name;
  }
}

TEST(Architecture, TensorCores) {
  const Architecture &h = *findArchitecture("sm_90a");
  // m64n256k16 f16 takes 128 cycles, n128 64; n64 is bound by both.
  EXPECT_EQ(h.gemm(64, 256, 16, 2).busy, 128);
  EXPECT_EQ(h.gemm(64, 128, 16, 2).busy, 64);
  EXPECT_EQ(h.gemm(64, 64, 16, 2).busy, 32);
  // fp8 has twice the k per instruction at the same time.
  EXPECT_EQ(h.gemm(64, 256, 32, 1).busy, 128);
  EXPECT_EQ(h.gemm(128, 128, 64, 2).busy, 2 * 4 * 64);
  const Architecture &b = *findArchitecture("sm_100a");
  // N/2 cycles per MMA unless shared memory is slower: N=64 reads
  // (128+64)*32/128 = 48.
  EXPECT_EQ(b.gemm(128, 256, 16, 2).busy, 128);
  EXPECT_EQ(b.gemm(128, 64, 16, 2).busy, 48);
  // One MMA, issue to commit: 136 + N/2, and 12 for a batch.
  EXPECT_EQ(b.gemm(128, 256, 16, 2).latency, 264 + 12);
  // AMX: 1024 flop per cycle.
  EXPECT_EQ(findArchitecture("x86")->gemm(32, 32, 32, 2).busy, 2 * 32 * 32 * 32 / 1024);
}

TEST(Architecture, LoadsAndSpecialFunctions) {
  const Architecture &b = *findArchitecture("sm_100a");
  EXPECT_EQ(b.load(256 * 128, 128).busy, 256); // one row per cycle
  EXPECT_EQ(b.load(256 * 32, 32).busy, 256);   // short rows waste it
  EXPECT_EQ(b.load(1024, 128).busy, 114);
  EXPECT_EQ(b.load(11300, 128).latency, 664 + 100);
  EXPECT_EQ(b.exponentials(128 * 128).busy, 1024);
}

TEST(Queues, Order) {
  // PTX ISA: tcgen05.mma of one shape are pipelined in order, and wgmma on the same
  // accumulator registers; copies have no order.
  EXPECT_TRUE(orderOf(Queue::Tensor).products);
  EXPECT_TRUE(orderOf(Queue::Wgmma).products);
  EXPECT_FALSE(orderOf(Queue::AsyncCopy).accesses);
  EXPECT_FALSE(orderOf(Queue::Store).accesses);
  // tcgen05.commit and cp.async.mbarrier.arrive track everything before them.
  EXPECT_TRUE(orderOf(Queue::Tensor).arrivals);
  EXPECT_TRUE(orderOf(Queue::AsyncCopy).arrivals);
}

} // namespace
