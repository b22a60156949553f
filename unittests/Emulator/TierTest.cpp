//===- TierTest.cpp - What hardware forgives ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiers of findings for which GPUs have given verdicts: a tile that is refilled after a
// generic read without a proxy fence, and one lane that arrives for its warp.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Tier.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

/// Code and tier of all findings.
std::vector<std::pair<unsigned, Tier>> tiersOf(const Report &report) {
  std::vector<std::pair<unsigned, Tier>> all;
  for (const Diagnostic &finding : report.findings)
    all.emplace_back(finding.code, tierOf(finding));
  return all;
}

using Tiers = std::vector<std::pair<unsigned, Tier>>;

/// One warp reads a tile that a bulk copy has filled, and the next copy overwrites it. \p after:
/// what follows the read.
Report refill(const std::string &target, const std::string &after, bool fenceReads = false) {
  TestKernel kernel(TestKernel::wrap(prologue + std::string(R"(
.shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;
mov.u32 %r0, tile; setp.eq.u32 %p0, %t, 0; mov.u32 %r2, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1; bar.warp.sync -1;
AGAIN: @!%p0 bra WAIT; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x0], 128, [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r2; @!%p1 bra WAIT;
mad.lo.u32 %r1, %t, 4, %r0; ld.shared.u32 %r3, [%r1];
)") + after + R"(
bar.warp.sync -1; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 2; @%p2 bra AGAIN; ret;)",
                                     1, "", target));
  kernel.buffer(std::vector<uint32_t>(32));
  LaunchOptions options;
  options.fenceReads = fenceReads;
  return kernel.run(1, 32, options);
}

/// Warp 0 accesses a tile, its lane 0 arrives, and warp 1 accesses the tile after that.
Report handOver(const std::string &first, const std::string &second) {
  TestKernel kernel(TestKernel::wrap(prologue + std::string(R"(
.shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;
setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [bar], 1;
setp.ge.u32 %p1, %t, 32; and.b32 %r4, %t, 31; setp.lt.u32 %p3, %r4, 16;
mov.u32 %r2, 0; mov.u32 %r0, tile;
mad.lo.u32 %r1, %r4, 4, %r0; mad.wide.u32 %x2, %r4, 4, %x0;
@%p1 st.shared.u32 [%r1], %r2; @%p1 st.global.u32 [%x2], %r2; bar.sync 0; @%p1 bra LATER;
)") + first + R"(
@%p0 mbarrier.arrive.shared.b64 _, [bar]; bra DONE;
LATER: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra LATER;
)" + second + "DONE: ret;",
                                     1, "", "sm_90a"));
  kernel.emptyBuffer(128);
  return kernel.run(1, 64);
}

} // namespace

TEST(Tier, AReadBeforeAnAsynchronousOverwriteNeedsAFence) {
  const std::string fence = "fence.proxy.async.shared::cta;";
  for (const char *target : {"sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120a"})
    EXPECT_CLEAN(refill(target, fence));
  // Shipped kernels for Hopper omit it, and no failing run is known; GB200 gives wrong results.
  EXPECT_CLEAN(refill("sm_90a", ""));
  EXPECT_EQ(tiersOf(refill("sm_90a", "", true)), Tiers({{EmuMissingProxyFence, Tier::Undefined}}));
  EXPECT_EQ(tiersOf(refill("sm_100a", "")), Tiers({{EmuMissingProxyFence, Tier::Undefined}}));
  EXPECT_EQ(tiersOf(refill("sm_120a", "")), Tiers({{EmuMissingProxyFence, Tier::Undefined}}));
  // A fence that another lane executes earlier covers nothing.
  EXPECT_FALSE(refill("sm_100a", "@%p0 " + fence).findings.empty());
  EXPECT_CLEAN(refill("sm_100a", "bar.warp.sync -1; @%p0 " + fence));
}

TEST(Tier, OneLaneArrivesForItsWarp) {
  const std::string read = "ld.shared.u32 %r3, [%r1];", write = "st.shared.u32 [%r1], %t;";
  const Tiers forgiven = {{EmuDataRace, Tier::Undefined}}, wrong = {{EmuDataRace, Tier::Wrong}};
  EXPECT_CLEAN(handOver(read + "bar.warp.sync -1;", write));
  EXPECT_CLEAN(handOver(write + "bar.warp.sync -1;", read));
  EXPECT_EQ(tiersOf(handOver(read, write)), forgiven);
  EXPECT_EQ(tiersOf(handOver(write, read)), forgiven);
  // A part of the warp, without the lane that arrives: nothing says when it runs.
  EXPECT_EQ(tiersOf(handOver("@!%p3 " + write, read)), wrong);
  // Stores to global memory may be on their way.
  EXPECT_EQ(tiersOf(handOver("st.global.u32 [%x2], %t;", "ld.global.u32 %r3, [%x2];")), wrong);
}
