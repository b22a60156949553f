//===- MachineTest.cpp - How the hardware executes instructions -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behavior that kernels rely on beside the words of the ISA: instructions that several threads
// execute as one, and what comes too late on hardware without being late in every run.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Tier.h"
#include "Hardware/Architecture.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

TEST(Machine, ThreadsThatLeaveAClusterBarrierStayCounted) {
  // All threads arrive; of the second warp one lane waits, the others exit. Thread 0 is slow.
  std::string body = prologue + std::string(R"(
.shared .u32 s;
setp.ne.u32 %p0, %t, 0; @%p0 bra A;
mov.u32 %r0, 7; st.shared.u32 [s], %r0;
A: barrier.cluster.arrive.release.aligned;
setp.ne.u32 %p0, %t, 33; @%p0 bra DONE;
barrier.cluster.wait.acquire;
ld.shared.u32 %r0, [s]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %x1, %r1, 4, %x0;
st.global.u32 [%x1], %r0;
DONE: ret;)");
  for (int starved : {-1, 0, 1, 2, 3}) {
    TestKernel kernel(TestKernel::wrap(body, 1));
    uint64_t out = kernel.emptyBuffer(8);
    LaunchConfig config;
    config.grid = config.cluster = {2, 1, 1};
    config.block = {64, 1, 1};
    LaunchOptions options;
    options.starvedWarp = starved;
    EXPECT_CLEAN(kernel.run(config, options));
    EXPECT_EQ(kernel.read<uint32_t>(out, 2), (std::vector<uint32_t>{7, 7}));
  }
}

TEST(Machine, CountsOfMultiprocessorsComeFromTheTable) {
  std::string body = prologue + std::string("mov.u32 %r0, %nsmid; st.global.u32 [%x1], %r0; ret;");
  auto countOn = [&](const std::string &target) {
    TestKernel kernel(TestKernel::wrap(body, 1, "", target));
    uint64_t out = kernel.emptyBuffer(4);
    EXPECT_CLEAN(kernel.run(1, 1));
    return int64_t(kernel.read<uint32_t>(out, 1)[0]);
  };
  for (const hw::Architecture &gpu : hw::architectures())
    if (gpu.limits.multiprocessors)
      EXPECT_EQ(countOn(gpu.name), gpu.limits.multiprocessors) << gpu.name;
  EXPECT_EQ(countOn("sm_100"), countOn("sm_100a"));
}

TEST(Machine, SharedMemoryOfABlockIsThatOfTheTarget) {
  // CUDA programming guide, technical specifications per compute capability.
  const std::pair<const char *, uint32_t> most[] = {{"sm_80", 163},  {"sm_86", 99},
                                                    {"sm_90a", 227}, {"sm_100a", 227},
                                                    {"sm_100", 227}, {"sm_120a", 99}};
  for (auto [target, kilobytes] : most) {
    TestKernel kernel(TestKernel::wrap("ret;", 0, "", target));
    LaunchConfig config;
    config.grid = config.block = {1, 1, 1};
    config.dynamicShared = kilobytes << 10;
    EXPECT_CLEAN(kernel.run(config)) << target;
    config.dynamicShared += 16;
    Report report = kernel.run(config);
    ASSERT_EQ(report.findings.size(), 1u) << target;
    EXPECT_NE(report.findings[0].message.find("it may have " + std::to_string(kilobytes << 10)),
              std::string::npos)
        << text(report);
  }
}

/// A product over a tile of zeros, and then \p rest.
std::string product(const std::string &rest, const std::string &before = "") {
  return prologue + std::string(R"(
.shared .align 1024 .b8 tile[4096];
mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 32, %r0; mov.u32 %r2, 0;
st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};
st.shared.v4.b32 [%r1+16], {%r2, %r2, %r2, %r2};
fence.proxy.async.shared::cta; bar.sync 0;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
shr.u32 %r3, %r0, 4; cvt.u64.u32 %x2, %r3; or.b64 %x2, %x2, 0x1000080000;
shr.u32 %r4, %t, 5; setp.eq.u32 %p1, %r4, 0;
)") + before +
         R"(
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %x2, %x2, 0, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
)" + rest +
         "\nret;";
}

Report runProduct(const std::string &body, LaunchOptions options = {}) {
  TestKernel kernel(TestKernel::wrap(body, 1, "", "sm_90a"));
  kernel.emptyBuffer(4);
  return kernel.run(1, 128, options);
}

TEST(Machine, WgmmaIsOneOperationOfItsWarpgroup) {
  // One warp waits and overwrites the operands of all four.
  std::string overwrite = "@%p1 st.shared.u32 [%r1+1024], 7;";
  for (Timing timing : {Timing::Eager, Timing::Lazy, Timing::Random}) {
    LaunchOptions options;
    options.timing = timing;
    EXPECT_CLEAN(runProduct(product("wgmma.wait_group.sync.aligned 0;" + overwrite), options));
    Report report = runProduct(product(overwrite + "wgmma.wait_group.sync.aligned 0;"), options);
    EXPECT_FINDING(report, EmuDataRace);
  }
}

TEST(Machine, WarpsOfAWarpgroupExecuteTheSameWgmma) {
  Report report =
      runProduct(product("wgmma.wait_group.sync.aligned 0;", "@%p1 add.u64 %x2, %x2, 1;"));
  EXPECT_FINDING(report, EmuWarpgroup);
  // A warp that leaves it out is waited for.
  report = runProduct(product("wgmma.wait_group.sync.aligned 0;", "@%p1 bra SKIP;") + "SKIP: ret;");
  ASSERT_TRUE(report.has(EmuDeadlock)) << text(report);
  EXPECT_NE(text(report).find("a wgmma that warp 0 of the warpgroup has not issued"),
            std::string::npos)
      << text(report);
}

TEST(Machine, RegistersOfWgmmaAreWrittenBeforeItsFence) {
  std::string body = product("wgmma.wait_group.sync.aligned 0;");
  EXPECT_CLEAN(runProduct(body));
  // ptxas adds a fence of its own there (C7519), so the tier is not Wrong.
  const std::string fence = "wgmma.fence.sync.aligned;\n";
  body.insert(body.find(fence) + fence.size(), "mov.f32 %f2, %f0;\n");
  Report report = runProduct(body);
  EXPECT_FINDING(report, EmuRegisterInFlight);
  EXPECT_EQ(tierOf(report.findings[0]), Tier::Undefined);
}

TEST(Machine, AnExitBeforeABarrierOrdersNoMemory) {
  // Warp 1 stores and exits; warp 0 loads after a barrier that only waits for warp 0 then.
  auto run = [](const std::string &barrier) {
    std::string body = prologue + std::string(R"(
.shared .u32 word; setp.ge.u32 %p0, %t, 32; setp.ne.u32 %p1, %t, 40; mov.u32 %r0, 7;
@!%p0 bra WAIT;
@!%p1 st.shared.u32 [word], %r0;
ret;
WAIT:
)") + barrier + "ld.shared.u32 %r1, [word]; st.global.u32 [%x1], %r1; ret;";
    TestKernel kernel(TestKernel::wrap(body, 1, "", "sm_90a"));
    kernel.emptyBuffer(256);
    LaunchOptions options;
    options.starvedWarp = 0; // so that the word has been written
    return kernel.run(1, 64, options);
  };
  for (const char *barrier : {"bar.sync 0;\n", "barrier.cluster.arrive.release.aligned;\n"
                                               "barrier.cluster.wait.acquire.aligned;\n"}) {
    Report report = run(barrier);
    ASSERT_EQ(report.findings.size(), 1u) << text(report);
    EXPECT_EQ(report.findings[0].code, EmuDataRace);
    EXPECT_EQ(tierOf(report.findings[0]), Tier::Undefined) << text(report);
  }
  Report report = run("");
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  EXPECT_EQ(tierOf(report.findings[0]), Tier::Wrong) << text(report);
}

TEST(Machine, CopiesOfAWholeWarpAreOneCopy) {
  // 32 lanes issue one store and one load, each with the same operands.
  std::string body = prologue + std::string(R"(
.shared .align 128 .b8 tile[128]; .shared .align 128 .b8 other[128]; .shared .align 8 .b64 bar;
mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 4, %r0; st.shared.u32 [%r1], %t;
setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [bar], 1;
fence.proxy.async.shared::cta; bar.warp.sync -1;
cp.async.bulk.global.shared::cta.bulk_group [%x0], [%r0], 128;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
st.shared.u32 [%r1], 0;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
mov.u32 %r2, other;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%x0], 128, [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
mad.lo.u32 %r2, %t, 4, %r2; ld.shared.u32 %r3, [%r2]; st.global.u32 [%x1+128], %r3; ret;)");
  TestKernel kernel(TestKernel::wrap(body, 1));
  uint64_t out = kernel.emptyBuffer(256);
  Report report = kernel.run(1, 32);
  EXPECT_CLEAN(report);
  EXPECT_EQ(report.stats.asyncOps, 2u);
  auto got = kernel.read<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], i % 32);
}

TEST(Machine, CopiesWithOtherOperandsAreOthers) {
  std::string body = prologue + std::string(R"(
.shared .align 128 .b8 tile[512];
mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 16, %r0; st.shared.v4.u32 [%r1], {%t, %t, %t, %t};
fence.proxy.async.shared::cta; mad.wide.u32 %x1, %t, 16, %x0;
cp.async.bulk.global.shared::cta.bulk_group [%x1], [%r1], 16;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;)");
  TestKernel kernel(TestKernel::wrap(body, 1));
  uint64_t out = kernel.emptyBuffer(512);
  Report report = kernel.run(1, 32);
  EXPECT_CLEAN(report);
  EXPECT_EQ(report.stats.asyncOps, 32u);
  EXPECT_EQ(kernel.read<uint32_t>(out, 128)[127], 31u);
}

TEST(Machine, SeveralLanesInitializeOneMbarrier) {
  std::string body = prologue + std::string(R"(
.shared .align 8 .b64 bar;
mbarrier.init.shared.b64 [bar], 32; bar.warp.sync -1;
mbarrier.arrive.shared.b64 _, [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
st.global.u32 [%x1], %t; ret;)");
  TestKernel kernel(TestKernel::wrap(body, 1));
  uint64_t out = kernel.emptyBuffer(128);
  Report report = kernel.run(1, 32);
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  EXPECT_EQ(report.findings[0].code, unsigned(EmuMbarrierMisuse));
  EXPECT_EQ(tierOf(report.findings[0]), Tier::Undefined);
  EXPECT_TRUE(report.completed);
  EXPECT_EQ(kernel.read<uint32_t>(out, 32)[31], 31u);
}

TEST(Machine, MulticastsNeedTheInitializationOfAllBlocks) {
  // Block 0 loads into both blocks; block 1 has initialized its own mbarrier.
  auto run = [](const std::string &fence) {
    std::string body = prologue + std::string(R"(
.shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;
setp.ne.u32 %p0, %t, 0; mov.u32 %r0, %cluster_ctarank; setp.ne.u32 %p2, %r0, 0;
@%p0 bra SYNC;
mbarrier.init.shared.b64 [bar], 1;
)") + fence + R"(
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
SYNC: bar.warp.sync -1;
barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;
or.pred %p1, %p0, %p2; @%p1 bra WAIT;
mov.u32 %r1, tile; mov.u16 %h, 3;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
  [%r1], [%x0], 128, [bar], %h;
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;)";
    TestKernel kernel(TestKernel::wrap(".reg .b16 %h;" + body, 1));
    kernel.buffer(std::vector<uint32_t>(32, 5));
    LaunchConfig config;
    config.grid = config.cluster = {2, 1, 1};
    config.block = {32, 1, 1};
    return kernel.run(config);
  };
  EXPECT_CLEAN(run("fence.mbarrier_init.release.cluster;"));
  // Hardware has the object when the cluster has met.
  Report relaxed = run("");
  ASSERT_FALSE(relaxed.findings.empty());
  for (const Diagnostic &finding : relaxed.findings) {
    EXPECT_EQ(finding.code, unsigned(EmuMbarrierMisuse)) << text(relaxed);
    EXPECT_EQ(tierOf(finding), Tier::Undefined) << text(relaxed);
  }
}

/// Thread 0 arrives in two phases of an mbarrier for \p count arrivals. The second warp waits for
/// the first of them; \p arrive is what it does in each phase.
Report waitForAPhase(const std::string &count, const std::string &arrive, int starved) {
  std::string body = prologue + std::string(R"(
.shared .align 8 .b64 bar;
setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [bar], )") +
                     count + R"(; bar.sync 0;
setp.eq.u32 %p1, %t, 32; @%p1 bra SECOND; @!%p0 bra END;
mbarrier.arrive.shared.b64 _, [bar];
A: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra A;
mbarrier.arrive.shared.b64 _, [bar];
B: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1; @!%p2 bra B;
bra END;
SECOND:
)" + arrive + R"(
C: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra C;
)" + arrive + "\nEND: ret;";
  TestKernel kernel(TestKernel::wrap(body, 1));
  kernel.emptyBuffer(4);
  LaunchOptions options;
  options.starvedWarp = starved;
  return kernel.run(1, 64, options);
}

TEST(Machine, APhaseThatMayPassUnseenIsReportedInAnyTiming) {
  // The second warp looks in time here: the first one is starved.
  Report report = waitForAPhase("1", "", 0);
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  EXPECT_EQ(report.findings[0].code, unsigned(EmuMissedPhase));
  EXPECT_TRUE(report.completed);
  // If it is late, it hangs.
  EXPECT_FINDING(waitForAPhase("1", "", 1), EmuDeadlock);
  for (int starved : {0, 1})
    EXPECT_CLEAN(waitForAPhase("2", "mbarrier.arrive.shared.b64 _, [bar];", starved));
}

TEST(Machine, LanesOfTensorMemoryWrapAround) {
  // Warps 4 to 7 add 32 lanes for each warp of the block.
  std::string body = prologue + std::string(R"(
.shared .align 4 .b32 address;
setp.lt.u32 %p0, %t, 32; mov.u32 %r0, address;
@!%p0 bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;
ALLOCATED: bar.sync 0;
ld.shared.u32 %r1, [address]; shr.u32 %r2, %t, 5; shl.b32 %r2, %r2, 21; add.u32 %r2, %r1, %r2;
setp.lt.u32 %p1, %t, 128; @%p1 bra STORED;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%t};
tcgen05.wait::st.sync.aligned;
STORED: bar.sync 0; @!%p1 bra LOADED;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r2];
tcgen05.wait::ld.sync.aligned;
st.global.u32 [%x1], %r3;
LOADED: bar.sync 0; @!%p0 bra DONE;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;
DONE: ret;)");
  TestKernel kernel(TestKernel::wrap(body, 1));
  uint64_t out = kernel.emptyBuffer(512);
  EXPECT_CLEAN(kernel.run(1, 256));
  auto got = kernel.read<uint32_t>(out, 128);
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(got[i], 128 + i);
}

/// Expects one finding, undefined by the ISA, of a kernel that ran to its end.
void expectUndefined(const Report &report, unsigned code) {
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  EXPECT_EQ(report.findings[0].code, code) << text(report);
  EXPECT_EQ(tierOf(report.findings[0]), Tier::Undefined);
  EXPECT_TRUE(report.completed);
}

TEST(Machine, TheWarpSelectsTheQuarterOfTensorMemory) {
  // All warps name lane 0; each reaches its own 32 lanes.
  auto run = [](const std::string &text) {
    TestKernel kernel(text);
    uint64_t out = kernel.emptyBuffer(512);
    Report report = kernel.run(1, 128);
    return std::pair(report, kernel.read<uint32_t>(out, 128));
  };
  auto body = [](const std::string &lane) {
    return TestKernel::wrap(prologue + std::string(R"(
.shared .align 4 .b32 address;
setp.lt.u32 %p0, %t, 32; @!%p0 bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
ALLOCATED: bar.sync 0; ld.shared.u32 %r1, [address];
tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1+)") +
                                lane + R"(], {%t};
tcgen05.wait::st.sync.aligned; bar.sync 0;
shr.u32 %r2, %t, 5; shl.b32 %r2, %r2, 21; add.u32 %r2, %r1, %r2;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r2]; tcgen05.wait::ld.sync.aligned;
st.global.u32 [%x1], %r3; bar.sync 0; @!%p0 bra DONE;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;
DONE: ret;)",
                            1);
  };
  auto [report, values] = run(body("0"));
  expectUndefined(report, EmuTensorMemoryMisuse);
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(values[i], i);
  // Lane 8 begins no quarter.
  EXPECT_FALSE(run(body("524288")).first.completed);
}

TEST(Machine, PairsAllocateTensorMemoryTogether) {
  // Each block sets its flag, allocates, and reads the flag of the other one.
  std::string body = prologue + std::string(R"(
.shared .align 4 .b32 address;
setp.eq.u32 %p0, %t, 0; mov.u32 %r0, %ctaid.x; xor.b32 %r1, %r0, 1;
mad.wide.u32 %x1, %r0, 4, %x0; mad.wide.u32 %x2, %r1, 4, %x0;
@%p0 st.relaxed.gpu.global.u32 [%x1], 7; bar.warp.sync -1;
tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 32; bar.warp.sync -1;
@%p0 ld.relaxed.gpu.global.u32 %r2, [%x2]; @%p0 st.global.u32 [%x1+8], %r2;
ld.shared.u32 %r3, [address];
tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 32; ret;)");
  for (int starved : {-1, 0, 1}) {
    TestKernel kernel(TestKernel::wrap(body, 1));
    uint64_t flags = kernel.buffer(std::vector<uint32_t>(4, 0));
    LaunchConfig config;
    config.grid = config.cluster = {2, 1, 1};
    config.block = {32, 1, 1};
    LaunchOptions options;
    options.starvedWarp = starved;
    EXPECT_CLEAN(kernel.run(config, options));
    EXPECT_EQ(kernel.read<uint32_t>(flags, 4), (std::vector<uint32_t>{7, 7, 7, 7})) << starved;
  }
}

TEST(Machine, CommitTakesTheLowHalfOfAGenericAddress) {
  auto run = [](const std::string &convert) {
    std::string body = prologue + std::string(R"(
.shared .align 8 .b64 bar;
setp.eq.u32 %p0, %t, 0; mov.u32 %r0, bar; cvt.u64.u32 %x2, %r0;
@%p0 mbarrier.init.shared.b64 [bar], 1; bar.warp.sync -1;
)") + convert + R"(
@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%x2];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
ret;)";
    TestKernel kernel(TestKernel::wrap(body, 1));
    kernel.emptyBuffer(4);
    return kernel.run(1, 32);
  };
  EXPECT_CLEAN(run("cvta.shared.u64 %x2, %x2;"));
  expectUndefined(run(""), EmuMbarrierMisuse);
}

TEST(Machine, LanesThatReadBeforeAProductAreDoneOnHardware) {
  // All lanes of a warpgroup read; one lane of each warp releases. A fifth warp overwrites.
  auto run = [](const std::string &between) {
    std::string body = prologue + std::string(R"(
.shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 bar; .shared .align 16 .b8 scale[512];
mov.u32 %r0, tile; mov.u32 %r5, scale; mov.u32 %r2, 0; setp.ge.u32 %p0, %t, 128; @%p0 bra START;
mad.lo.u32 %r1, %t, 32, %r0;
st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2}; st.shared.v4.b32 [%r1+16], {%r2, %r2, %r2, %r2};
mad.lo.u32 %r1, %t, 4, %r5; st.shared.u32 [%r1], %t;
setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [bar], 4;
START: fence.proxy.async.shared::cta; bar.sync 0; @%p0 bra OVERWRITE;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
shr.u32 %r3, %r0, 4; cvt.u64.u32 %x2, %r3; or.b64 %x2, %x2, 0x1000080000;
ld.shared.u32 %r6, [%r1];
)") + between + R"(
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
and.b32 %r7, %t, 31; setp.eq.u32 %p2, %r7, 0; @%p2 mbarrier.arrive.shared.b64 _, [bar];
bra DONE;
OVERWRITE: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra OVERWRITE;
sub.u32 %r8, %t, 128; mad.lo.u32 %r8, %r8, 16, %r5;
st.shared.v4.b32 [%r8], {%r2, %r2, %r2, %r2};
DONE: ret;)";
    TestKernel kernel(TestKernel::wrap(body, 1, "", "sm_90a"));
    kernel.emptyBuffer(4);
    return kernel.run(1, 160);
  };
  const std::string product = R"(wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %x2, %x2, 0, 1, 1, 0, 0;
)";
  EXPECT_CLEAN(run(product + "bar.warp.sync -1;"));
  expectUndefined(run(product), EmuDataRace);
  // Each warp reads by one instruction, and one of its lanes arrives later.
  expectUndefined(run(""), EmuDataRace);
}

TEST(Machine, VariablesHaveTheNamesOfTheirSource) {
  // k(int)::tile and n::pool, as nvcc names them.
  auto report = [](const std::string &name) {
    TestKernel kernel(TestKernel::wrap(prologue + std::string(".shared .b32 ") + name +
                                           "; ld.shared.u32 %r0, [" + name + "]; ret;",
                                       1));
    kernel.emptyBuffer(4);
    return text(kernel.run(1, 1));
  };
  EXPECT_NE(report("_ZZ1kiE4tile").find("read of tile+0"), std::string::npos);
  EXPECT_NE(report("_ZN1n4poolE").find("read of n::pool+0"), std::string::npos);
}

} // namespace
