//===- StarvedTest.cpp - The timing that starves a warp -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

LaunchOptions starving(int32_t warp, Timing timing = Timing::Eager) {
  LaunchOptions options;
  options.timing = timing;
  options.starvedWarp = warp;
  return options;
}

TEST(Starved, RunsAfterAllOthers) {
  // The first thread of each warp takes a number; four blocks of one cluster or, with
  // atomics between them, of clusters that take turns.
  TestKernel kernel(TestKernel::wrap(R"(
.reg .b32 %r<9>; .reg .b64 %x<9>; .reg .pred %p;
mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; setp.ne.u32 %p, %r1, 0; @%p bra END;
ld.param.u64 %x0, [p0]; ld.param.u64 %x1, [p1];
atom.global.relaxed.gpu.add.u32 %r2, [%x0], 1;
mov.u32 %r3, %ctaid.x; shl.b32 %r3, %r3, 2; shr.u32 %r4, %r0, 5; add.u32 %r3, %r3, %r4;
mad.wide.u32 %x2, %r3, 4, %x1; st.global.u32 [%x2], %r2;
END: ret;)"));
  uint64_t counter = kernel.buffer(std::vector<uint32_t>{0});
  uint64_t numbers = kernel.emptyBuffer(64);
  LaunchConfig config;
  config.grid = {4, 1, 1};
  config.block = {128, 1, 1};
  for (uint32_t cluster : {1u, 2u, 4u})
    for (Timing timing : {Timing::Eager, Timing::Lazy, Timing::Random})
      for (uint32_t warp = 0; warp < 4 * cluster; ++warp) {
        uint32_t zero = 0;
        kernel.device.write(counter, &zero, 4);
        config.cluster = {cluster, 1, 1};
        EXPECT_CLEAN(kernel.run(config, starving(int32_t(warp), timing)));
        auto taken = kernel.read<uint32_t>(numbers, 16);
        // One warp of each cluster comes last, after all others of all clusters.
        uint32_t last = 4 / cluster;
        for (uint32_t i = 0; i < 16; ++i)
          EXPECT_EQ(taken[i] >= 16 - last, i % (4 * cluster) == warp)
              << "warp " << i << " has number " << taken[i] << ", " << warp << " of clusters of "
              << cluster << " is starved";
      }
}

TEST(Starved, GoesOnWhereOthersWaitForIt) {
  // Warps 0 and 1 pass a word to and fro, by a flag that both poll.
  const std::string body = R"(
.reg .b32 %r<9>; .reg .b64 %x<9>; .reg .pred %p<3>;
.shared .align 4 .b32 flag;
mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [flag], 0;
bar.sync 0;
and.b32 %r1, %r0, 31; setp.ne.u32 %p0, %r1, 0; @%p0 bra END;
shr.u32 %r2, %r0, 5; mov.u32 %r3, 0;
LOOP: ld.acquire.cta.shared.u32 %r4, [flag]; and.b32 %r5, %r4, 1;
setp.ne.u32 %p1, %r5, %r2; @%p1 bra LOOP;
add.u32 %r4, %r4, 1; st.release.cta.shared.u32 [flag], %r4;
add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 20; @%p2 bra LOOP;
ld.param.u64 %x0, [p0]; setp.eq.u32 %p0, %r2, 1; @%p0 st.global.u32 [%x0], %r4;
END: ret;)";
  for (int32_t warp : {0, 1}) {
    TestKernel kernel(TestKernel::wrap(body, 1));
    uint64_t out = kernel.emptyBuffer(4);
    EXPECT_CLEAN(kernel.run(1, 64, starving(warp)));
    EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 40u);
  }
}

TEST(Starved, AnAtomicThatChangesNothingMaySpin) {
  // Warp 1 waits for warp 0 by compare-and-swap, as on a lock.
  const char *body = R"(.reg .b32 %r<9>; .reg .b64 %x<3>; .reg .pred %p<4>;
ld.param.u64 %x0, [p0];
mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; setp.ne.u32 %p0, %r1, 0; @%p0 ret;
setp.ne.u32 %p1, %r0, 0; @%p1 bra LOOP;
atom.release.gpu.global.exch.b32 %r2, [%x0], 7; ret;
LOOP: atom.acquire.gpu.global.cas.b32 %r2, [%x0], 7, 8;
setp.ne.u32 %p2, %r2, 7; @%p2 bra LOOP;
ret;)";
  for (int32_t warp : {0, 1}) {
    TestKernel kernel(TestKernel::wrap(body, 1));
    uint64_t out = kernel.buffer(std::vector<uint32_t>(1, 0));
    EXPECT_CLEAN(kernel.run(1, 64, starving(warp)));
    EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 8u);
  }
}

TEST(Starved, ManyAtomicsThatChangeNothingAreNoDeadlock) {
  const char *body = R"(.reg .b32 %r<9>; .reg .b64 %x<3>; .reg .pred %p<4>;
.shared .align 4 .b32 most;
mov.u32 %r1, 0; mov.u32 %r3, 9; st.shared.u32 [most], %r3;
LOOP: atom.shared.max.u32 %r2, [most], 5; add.u32 %r1, %r1, 1;
setp.lt.u32 %p0, %r1, 5000; @%p0 bra LOOP;
ld.param.u64 %x0, [p0]; st.global.u32 [%x0], %r1; ret;)";
  TestKernel kernel(TestKernel::wrap(body, 1));
  uint64_t out = kernel.emptyBuffer(4);
  EXPECT_CLEAN(kernel.run(1, 1));
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 5000u);
}

TEST(Starved, AWarpThatDoesNotExistIsRefused) {
  TestKernel kernel(TestKernel::wrap("ret;", 0));
  EXPECT_CLEAN(kernel.run(1, 64, starving(1)));
  EXPECT_FINDING(kernel.run(1, 64, starving(2)), EmuBadLaunch);
}

TEST(Timings, AreReadAndNamed) {
  auto named = [](const std::string &text) {
    LaunchOptions options;
    return parseTiming(text, options) ? timingName(options, 4) : "refused";
  };
  EXPECT_EQ(named("eager"), "eager timing");
  EXPECT_EQ(named("lazy"), "lazy timing");
  EXPECT_EQ(named("random:18"), "random timing, seed 0x12");
  EXPECT_EQ(named("delay:3"), "timing that delays operation 3");
  EXPECT_EQ(named("starve:3"), "eager timing that starves warp 3");
  EXPECT_EQ(named("starve:6"), "eager timing that starves warp 2 of block 1 of each cluster");
  for (const char *text :
       {"", "late", "random", "random:", "random:x", "random:1x", "starve:", "starve:-1",
        "starve:99999999999", "delay:5000000000", "random:99999999999999999999"})
    EXPECT_EQ(named(text), "refused") << text;
}

TEST(Timings, StarveEachWarpBeforeRandomOnes) {
  TimingSequence timings{4, 3, 10};
  std::vector<std::string> names;
  for (uint64_t i = 0; i < timings.size(); ++i)
    names.push_back(timingName(timings[i], 8));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "eager timing", "lazy timing", "eager timing that starves warp 0",
                       "eager timing that starves warp 1", "eager timing that starves warp 2",
                       "random timing, seed 0xa", "random timing, seed 0xb"}));
  TimingSequence one{1, 1, 10};
  EXPECT_EQ(timingName(one[0], 8), "eager timing");
  EXPECT_EQ(timingName(one[1], 8), "eager timing that starves warp 0");
}

} // namespace
