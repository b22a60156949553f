//===- RelaxedArrivalTest.cpp - Slots that a relaxed arrival frees --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A release at cluster scope waits until all earlier writes of its thread have reached the L2
// cache. An arrival that only signals completed wgmma reads of a slot needs no release. An arrival
// that publishes data does.
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

constexpr const char *clusterRelease =
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];";

/// Block 1 uses its tile and arrives at block 0, whose warp 4 then accesses the tile.
struct Handover {
  std::string awaited = "wgmma.wait_group.sync.aligned 0;"; ///< in threads that issue wgmma
  std::string used = "";                                    ///< further accesses by these threads
  std::string arrival = "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r8];";
  std::string wait = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;";
  std::string access = "st.shared::cluster.u32 [%r9], 7;"; ///< block 0's access to the tile
};

Report run(const Handover &h) {
  std::string body = prologue + std::string(R"(
.shared .align 1024 .b8 tile[4096]; .shared .align 8 .b8 bar[8]; .reg .b32 %rank;
mov.u32 %rank, %cluster_ctarank;
mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 32, %r0; mov.u32 %r2, 0; mov.u32 %r7, bar;
setp.ge.u32 %p2, %t, 128; @%p2 bra FILLED;
st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};
st.shared.v4.b32 [%r1+16], {%r2, %r2, %r2, %r2};
FILLED: setp.ne.u32 %p3, %t, 0; @%p3 bra INITIALIZED;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
INITIALIZED: fence.proxy.async.shared::cta;
barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
mapa.shared::cluster.u32 %r8, %r7, 0; mapa.shared::cluster.u32 %r9, %r0, 1;
setp.eq.u32 %p4, %rank, 0; @%p4 bra FIRST;
@%p2 bra DONE;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
shr.u32 %r3, %r0, 4; cvt.u64.u32 %x2, %r3; or.b64 %x2, %x2, 0x1000080000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %x2, %x2, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
)") + h.awaited + h.used +
                     R"(
bar.sync 1, 128;
@%p3 bra LATER; )" + h.arrival +
                     R"( LATER: wgmma.wait_group.sync.aligned 0; bra DONE;
FIRST: setp.ne.u32 %p5, %t, 128; @%p5 bra DONE;
POLL: )" + h.wait + " @!%p1 bra POLL; " +
                     h.access + R"(
DONE: barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; ret;)";
  TestKernel kernel(TestKernel::wrap(body, 1, "", "sm_90a"));
  kernel.buffer(std::vector<float>(128));
  LaunchConfig config;
  config.grid = config.cluster = {2, 1, 1};
  config.block = {160, 1, 1};
  return kernel.run(config);
}

TEST(RelaxedArrival, FreesASlotThatWgmmaHasRead) { EXPECT_CLEAN(run({})); }

TEST(RelaxedArrival, NeedsTheWaitForWgmma) {
  EXPECT_FINDING(run({.awaited = ""}), EmuDataRace);
  EXPECT_FINDING(run({.awaited = "wgmma.wait_group.sync.aligned 1;"}), EmuDataRace);
}

TEST(RelaxedArrival, NeedsAnAcquiringWait) {
  Handover h;
  h.wait = "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [bar], 0;";
  EXPECT_FINDING(run(h), EmuDataRace);
}

TEST(RelaxedArrival, SaysAsMuchIfArrivalOrWaitHaveTheScopeOfABlock) {
  const std::string release = "mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r8];";
  const std::string acquire = "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], 0;";
  EXPECT_CLEAN(run({.arrival = release}));
  EXPECT_CLEAN(run({.wait = acquire}));
  EXPECT_CLEAN(run({.arrival = release, .wait = acquire}));
  EXPECT_FINDING(run({.awaited = "", .arrival = release, .wait = acquire}), EmuDataRace);
  // A cluster release does not order a wait that acquires at block scope.
  Handover h;
  h.arrival = clusterRelease;
  h.wait = acquire;
  EXPECT_CLEAN(run(h));
  h.used = "@%p3 bra READ; ld.shared.u32 %r4, [tile]; READ:";
  EXPECT_FINDING(run(h), EmuDataRace);
}

TEST(RelaxedArrival, DoesNotOrderReadsOfThreads) {
  Handover h;
  h.used = "@%p3 bra READ; ld.shared.u32 %r4, [tile]; READ:";
  EXPECT_FINDING(run(h), EmuDataRace);
  h.arrival = clusterRelease;
  EXPECT_CLEAN(run(h));
}

TEST(RelaxedArrival, LetsCopiedTilesBeOverwrittenAndNotRead) {
  Handover h;
  h.used = "@%p3 bra COPIED; cp.async.ca.shared.global [tile+64], [%x0], 16; COPIED:"
           "cp.async.commit_group; cp.async.wait_group 0;";
  h.access = "st.shared::cluster.u32 [%r9+64], 7;";
  EXPECT_CLEAN(run(h));
  h.access = "ld.shared::cluster.u32 %r4, [%r9+64];";
  EXPECT_FINDING(run(h), EmuDataRace);
  h.arrival = clusterRelease;
  EXPECT_CLEAN(run(h));
}

TEST(RelaxedArrival, PublishesNoWrites) {
  Handover h;
  h.used = "@%p3 bra WRITTEN; st.shared.u32 [tile+64], 5; WRITTEN:";
  h.access = "ld.shared::cluster.u32 %r4, [%r9+64];";
  EXPECT_FINDING(run(h), EmuDataRace);
  h.arrival = clusterRelease;
  EXPECT_CLEAN(run(h));
}

} // namespace
