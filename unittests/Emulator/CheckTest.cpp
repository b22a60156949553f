//===- CheckTest.cpp - What the checker must find -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Tier.h"
#include "Emulator/Tensor/TensorMap.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

const char *prologue = R"(
.reg .b32 %t, %r<20>; .reg .b64 %x<9>, %s; .reg .pred %p<9>;
.shared .align 8 .b8 smem[4096];
mov.u32 %t, %tid.x; ld.param.u64 %x0, [p0]; mad.wide.u32 %x1, %t, 4, %x0;
mov.u32 %r19, smem; shl.b32 %r18, %t, 2; add.u32 %r17, %r19, %r18;
)";

Report check(const std::string &body, uint32_t block = 64, LaunchOptions options = {}) {
  TestKernel kernel(TestKernel::wrap(prologue + body, 1));
  kernel.emptyBuffer(4096);
  return kernel.run(1, block, options);
}

TEST(Check, RaceAcrossWarpsNeedsABarrier) {
  const std::string before = "st.shared.u32 [%r17], %t;\n", after = R"(
xor.b32 %r1, %t, 32; shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %r19;
ld.shared.u32 %r2, [%r1]; ret;)";
  EXPECT_CLEAN(check(before + "bar.sync 0;" + after));
  Report racy = check(before + after);
  EXPECT_FINDING(racy, EmuDataRace);
}

TEST(Check, RaceInsideAWarp) {
  const std::string before = "st.shared.u32 [%r17], %t;\n", after = R"(
xor.b32 %r1, %t, 1; shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %r19;
ld.shared.u32 %r2, [%r1]; ret;)";
  EXPECT_CLEAN(check(before + "bar.warp.sync -1;" + after, 32));
  EXPECT_FINDING(check(before + after, 32), EmuDataRace);
}

TEST(Check, WriteAfterRead) {
  const std::string start = R"(st.shared.u32 [%r17], %t; bar.sync 0;
xor.b32 %r1, %t, 32; shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %r19;
ld.shared.u32 %r2, [%r1];
)",
                    end = "st.shared.u32 [%r17], %r2; ret;";
  EXPECT_CLEAN(check(start + "bar.sync 0;" + end));
  EXPECT_FINDING(check(start + end), EmuDataRace);
}

TEST(Check, DifferentBytesAreNoRace) {
  EXPECT_CLEAN(check("add.u32 %r1, %r19, %t; st.shared.u8 [%r1], %t; "
                     "ld.shared.u8 %r2, [%r1]; ret;"));
}

TEST(Check, BlocksRaceOnGlobalMemory) {
  auto run = [](const std::string &body) {
    TestKernel kernel(TestKernel::wrap(prologue + body, 1));
    kernel.emptyBuffer(4096);
    return kernel.run(2, 32);
  };
  Report report =
      run("mov.u32 %r1, %ctaid.x; add.u32 %r1, %r1, %t; st.global.u32 [%x1], %r1; ret;");
  EXPECT_FINDING(report, EmuDataRace);
  EXPECT_EQ(tierOf(report.findings[0]), Tier::Wrong);
  EXPECT_FALSE(report.ok());
}

TEST(Check, ReadsBeforeTheFirstWriteAreRecorded) {
  // Block 0 reads what block 1 writes afterwards; the sums show that memory was as before.
  TestKernel kernel(TestKernel::wrap(prologue + std::string(R"(
mov.u32 %r1, %ctaid.x; setp.ne.u32 %p0, %r1, 0; @%p0 bra WRITER;
ld.global.u32 %r2, [%x1]; st.global.u32 [%x1+128], %r2; ret;
WRITER: ld.global.u32 %r2, [%x1+256]; add.u32 %r2, %r2, 1;
st.global.u32 [%x1+256], %r2; st.global.u32 [%x1], 9; ret;)"),
                                     1));
  uint64_t data = kernel.buffer(std::vector<uint32_t>(96, 5));
  LaunchOptions options;
  options.threads = 1;
  EXPECT_FINDING(kernel.run(2, 32, options), EmuDataRace);
  auto got = kernel.read<uint32_t>(data, 96);
  EXPECT_EQ(got[0], 9u);
  EXPECT_EQ(got[32], 5u);
  EXPECT_EQ(got[64], 6u);
}

TEST(Check, SameValueBySeveralThreadsIsANote) {
  auto run = [](const std::string &body) {
    TestKernel kernel(TestKernel::wrap(prologue + body, 1));
    kernel.emptyBuffer(4096);
    return kernel.run(2, 32);
  };
  Report report = run("st.global.u32 [%x1], %t; ret;");
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  EXPECT_FINDING(report, EmuSameValue);
  EXPECT_EQ(tierOf(report.findings[0]), Tier::Note);
  EXPECT_TRUE(report.ok());
  // Vectors that differ in one element are a race.
  EXPECT_FINDING(run("and.b32 %r1, %t, 16; mad.wide.u32 %x1, %r1, 4, %x0; mov.u32 %r2, 5;"
                     "mov.u32 %r3, %ctaid.x; st.global.v4.u32 [%x1], {%r2, %r2, %r2, %r3}; ret;"),
                 EmuDataRace);
  // So are two instructions, which may store other values another time.
  EXPECT_FINDING(run("setp.eq.u32 %p0, %t, 0; @%p0 st.global.u32 [%x0], 7;"
                     "@!%p0 st.global.u32 [%x0], 7; ret;"),
                 EmuDataRace);
}

TEST(Check, ReleaseAndAcquireOrderGlobalMemory) {
  auto program = [](const std::string &release, const std::string &acquire) {
    return TestKernel::wrap(std::string(prologue) + R"(
mov.u32 %r1, %ctaid.x; setp.ne.u32 %p0, %r1, 0; @%p0 bra READER;
st.global.u32 [%x0], 42;
)" + release + R"(
ret;
READER:
SPIN: )" + acquire + R"(
setp.eq.u32 %p1, %r2, 0; @%p1 bra SPIN;
ld.global.u32 %r3, [%x0]; st.global.u32 [%x0+8], %r3; ret;)",
                            1);
  };
  auto run = [&](const std::string &release, const std::string &acquire) {
    TestKernel kernel(program(release, acquire));
    uint64_t out = kernel.buffer(std::vector<uint32_t>(4, 0));
    Report report = kernel.run(2, 1);
    EXPECT_EQ(kernel.read<uint32_t>(out, 3)[2], 42u);
    return report;
  };
  EXPECT_CLEAN(
      run("st.release.gpu.global.u32 [%x0+4], 1;", "ld.acquire.gpu.global.u32 %r2, [%x0+4];"));
  EXPECT_CLEAN(run("fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%x0+4], 1;",
                   "ld.relaxed.gpu.global.u32 %r2, [%x0+4]; fence.acq_rel.gpu;"));
  EXPECT_FINDING(
      run("st.relaxed.gpu.global.u32 [%x0+4], 1;", "ld.acquire.gpu.global.u32 %r2, [%x0+4];"),
      EmuDataRace);
  EXPECT_FINDING(
      run("st.release.gpu.global.u32 [%x0+4], 1;", "ld.relaxed.gpu.global.u32 %r2, [%x0+4];"),
      EmuDataRace);
}

TEST(Check, UncheckedLaunchInitializesMemory) {
  // Stores of unchecked launches are not recorded: what they access counts as written.
  TestKernel kernel(TestKernel::wrap(std::string(prologue) + R"(
ld.param.u64 %x2, [p1]; ld.global.u32 %r1, [%x2]; setp.eq.u32 %p1, %r1, 0; @%p1 bra READ;
st.global.u32 [%x1], %t; ret;
READ: ld.global.u32 %r2, [%x1]; ret;)",
                                     2));
  kernel.emptyBuffer(4096);
  uint64_t mode = kernel.buffer(std::vector<uint32_t>{0});
  EXPECT_FINDING(kernel.run(1, 64), EmuUninitialized);
  uint32_t store = 1, load = 0;
  kernel.device.write(mode, &store, 4);
  LaunchOptions unchecked;
  unchecked.checks = false;
  EXPECT_CLEAN(kernel.run(1, 64, unchecked));
  kernel.device.write(mode, &load, 4);
  EXPECT_CLEAN(kernel.run(1, 64));
}

TEST(Check, UninitializedBoundsAlignment) {
  EXPECT_FINDING(check("ld.shared.u32 %r1, [%r17]; ret;"), EmuUninitialized);
  EXPECT_FINDING(check("ld.global.u32 %r1, [%x1]; ret;"), EmuUninitialized);
  EXPECT_FINDING(check("st.shared.u32 [%r19+4096], %t; ret;", 1), EmuOutOfBounds);
  EXPECT_FINDING(check("st.global.u32 [%x0+4096], %t; ret;", 1), EmuOutOfBounds);
  EXPECT_FINDING(check("st.shared.u32 [%r19+2], %t; ret;", 1), EmuMisaligned);
  EXPECT_FINDING(check("mov.b64 %s, 0; st.u32 [%s], %t; ret;", 1), EmuOutOfBounds);
}

TEST(Check, MbarrierOrdersAndCounts) {
  auto program = [](const std::string &count, const std::string &arrive,
                    const std::string &parity) {
    return R"(
setp.ne.u32 %p0, %t, 0;
@!%p0 mbarrier.init.shared.b64 [smem], )" +
           count + R"(;
bar.sync 0;
setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUMER;
st.shared.u32 [%r17+64], %t;
)" + arrive +
           R"(
ret;
CONSUMER:
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [smem], )" +
           parity + R"(; @!%p2 bra WAIT;
ld.shared.u32 %r2, [%r17+-64]; ret;)";
  };
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [smem];";
  EXPECT_CLEAN(check(program("32", arrive, "0")));
  // One arrival too few, one too many, a relaxed one, the wrong phase.
  Report missing = check(program("33", arrive, "0"));
  EXPECT_FINDING(missing, EmuDeadlock);
  EXPECT_NE(text(missing).find("1 of 33 arrivals"), std::string::npos);
  EXPECT_FINDING(check(program("31", arrive, "0")), EmuDataRace);
  EXPECT_FINDING(check(program("32", "mbarrier.arrive.relaxed.cta.shared.b64 _, [smem];", "0")),
                 EmuDataRace);
  EXPECT_FINDING(check(program("32", arrive, "1")), EmuDataRace);
  EXPECT_FINDING(check(program("32", "", "0")), EmuDeadlock);
}

TEST(Check, MbarrierMisuse) {
  EXPECT_FINDING(check("mbarrier.arrive.shared.b64 _, [smem]; ret;", 1), EmuMbarrierMisuse);
  EXPECT_FINDING(check("mbarrier.init.shared.b64 [smem], 1;"
                       "mbarrier.init.shared.b64 [smem], 1; ret;",
                       1),
                 EmuMbarrierMisuse);
  EXPECT_CLEAN(check("mbarrier.init.shared.b64 [smem], 1;"
                     "mbarrier.inval.shared.b64 [smem];"
                     "mbarrier.init.shared.b64 [smem], 1; ret;",
                     1));
  EXPECT_FINDING(check("mbarrier.init.shared.b64 [smem], 1;"
                       "mbarrier.arrive.shared.b64 _, [smem], 2; ret;",
                       1),
                 EmuMbarrierMisuse);
  EXPECT_FINDING(check("mbarrier.init.shared.b64 [smem], 1;"
                       "ld.shared.u32 %r1, [smem]; ret;",
                       1),
                 EmuMbarrierMisuse);
  EXPECT_FINDING(check("mbarrier.init.shared.b64 [smem], 0; ret;", 1), EmuMbarrierMisuse);
  // Not synchronized with the initialization.
  EXPECT_FINDING(check("setp.ne.u32 %p0, %t, 0;"
                       "@!%p0 mbarrier.init.shared.b64 [smem], 64;"
                       "mbarrier.arrive.shared.b64 _, [smem]; ret;",
                       64),
                 EmuMbarrierMisuse);
}

TEST(Check, BarriersThatCannotComplete) {
  Report report = check("setp.lt.u32 %p0, %t, 32; @%p0 bra A; bar.sync 1, 64; "
                        "A: bar.sync 2, 64; ret;");
  EXPECT_FINDING(report, EmuDeadlock);
  EXPECT_FINDING(check("setp.eq.u32 %p0, %t, 0; @%p0 bar.sync 0; ret;"), EmuDivergentAligned);
  EXPECT_FINDING(check("bar.sync 16; ret;"), EmuBarrierMisuse);
  EXPECT_FINDING(check("L: bra L;"), EmuNoProgress);
  EXPECT_FINDING(check("trap;"), EmuTrap);
}

/// Block 0 hands a value to block 1 (of another cluster, or of its own).
Report handOver(const std::string &release, const std::string &acquire, bool oneCluster = false) {
  TestKernel kernel(TestKernel::wrap(std::string(prologue) + R"(
mov.u32 %r1, %ctaid.x; setp.ne.u32 %p0, %r1, 0; @%p0 bra B;
st.global.u32 [%x0+64], 7;
)" + release + R"( [%x0], 1; ret;
B: )" + acquire + R"( %r2, [%x0]; setp.eq.u32 %p1, %r2, 0; @%p1 bra B;
ld.global.u32 %r3, [%x0+64]; st.global.u32 [%x0+128], %r3; ret;)",
                                     1));
  kernel.buffer(std::vector<uint32_t>(64));
  LaunchConfig config;
  config.grid = {2, 1, 1};
  if (oneCluster)
    config.cluster = {2, 1, 1};
  return kernel.run(config);
}

TEST(Check, ScopesMustReachTheOtherSide) {
  EXPECT_CLEAN(handOver("st.release.gpu.global.u32", "ld.acquire.gpu.global.u32"));
  EXPECT_CLEAN(handOver("st.release.sys.global.u32", "ld.acquire.gpu.global.u32"));
  EXPECT_FINDING(handOver("st.release.cta.global.u32", "ld.acquire.gpu.global.u32"), EmuDataRace);
  EXPECT_FINDING(handOver("st.release.gpu.global.u32", "ld.acquire.cta.global.u32"), EmuDataRace);
  EXPECT_FINDING(handOver("st.release.cluster.global.u32", "ld.acquire.gpu.global.u32"),
                 EmuDataRace);
  EXPECT_CLEAN(handOver("st.release.cluster.global.u32", "ld.acquire.cluster.global.u32", true));
  EXPECT_FINDING(handOver("st.release.cta.global.u32", "ld.acquire.cluster.global.u32", true),
                 EmuDataRace);
  EXPECT_CLEAN(
      handOver("fence.acq_rel.gpu; st.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"));
  EXPECT_FINDING(
      handOver("fence.acq_rel.cta; st.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"),
      EmuDataRace);
}

TEST(Check, MessagesNameTheNarrowScope) {
  auto help = [](const Report &report) {
    return report.findings.empty() ? "" : report.findings.back().helps.at(0);
  };
  // Blocks of two clusters: a release, an acquire and a fence that only include the block.
  Report release = handOver("st.release.cta.global.u32", "ld.acquire.gpu.global.u32");
  EXPECT_NE(text(release).find("note: release of scope .cta"), std::string::npos) << text(release);
  EXPECT_EQ(help(release), "the scope .cta of the release between them is too narrow: the other "
                           "thread is in another block; use .gpu or .sys");
  Report acquire = handOver("st.release.gpu.global.u32", "ld.acquire.cta.global.u32");
  EXPECT_NE(text(acquire).find("note: acquire of scope .cta"), std::string::npos) << text(acquire);
  Report fence =
      handOver("fence.acq_rel.cta; st.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32");
  EXPECT_EQ(help(fence), "the scope .cta of the release between them is too narrow: the other "
                         "thread is in another block; use .gpu or .sys");
  // The flag itself is a race as well.
  EXPECT_EQ(acquire.findings.size(), 2u) << text(acquire);
  EXPECT_EQ(fence.findings.size(), 1u) << text(fence);
  // Blocks of one cluster.
  Report cluster = handOver("st.release.cta.global.u32", "ld.acquire.cluster.global.u32", true);
  EXPECT_NE(text(cluster).find("the other thread is in another block of its cluster; use .cluster, "
                               ".gpu or .sys"),
            std::string::npos)
      << text(cluster);
}

TEST(Check, AddressesOf32BitsWrap) {
  // An index from the end of a frame: the register holds a difference below 0 (libdevice's sin).
  TestKernel kernel(TestKernel::wrap(std::string(prologue) + R"(
.local .align 4 .b8 frame[32]; .shared .align 4 .b8 tile[32];
mov.u32 %r0, frame; st.local.u32 [%r0+8], 7; sub.u32 %r1, %r0, 16; ld.local.u32 %r2, [%r1+24];
mov.u32 %r3, tile; st.shared.u32 [%r3+8], 9; sub.u32 %r4, %r3, 2048; ld.shared.u32 %r5, [%r4+2056];
st.global.u32 [%x0], %r2; st.global.u32 [%x0+4], %r5; ret;)",
                                     1));
  uint64_t out = kernel.emptyBuffer(8);
  EXPECT_CLEAN(kernel.run(1, 1));
  EXPECT_EQ(kernel.read<uint32_t>(out, 2), (std::vector<uint32_t>{7, 9}));
}

TEST(Check, MessagesNameTheRelaxedSide) {
  auto expect = [](const Report &report, const std::string &help, const std::string &note) {
    ASSERT_EQ(report.findings.size(), 1u) << text(report);
    EXPECT_EQ(report.findings[0].helps.at(0), help);
    ASSERT_EQ(report.findings[0].notes.size(), 2u);
    EXPECT_EQ(report.findings[0].notes[1].message, note);
  };
  const std::string noRelease =
      " writes what the other thread reads before its access, but releases nothing; use .release";
  for (std::string release :
       {"st.relaxed.gpu.global.u32", "st.volatile.global.u32", "red.relaxed.gpu.global.add.u32"})
    expect(handOver(release, "ld.acquire.gpu.global.u32"),
           "the release between them is missing: `" + release + "`" + noRelease,
           "releases nothing (test.ptx:14 `" + release + "`)");
  for (std::string acquire : {"ld.relaxed.gpu.global.u32", "ld.volatile.global.u32"})
    expect(handOver("st.release.gpu.global.u32", acquire),
           "the acquire between them is missing: `" + acquire +
               "` reads what the other thread has released, but acquires nothing; use .acquire",
           "acquires nothing (test.ptx:15 `" + acquire + "`)");
}

/// Block 0 writes words by all threads of two warps, and its first thread raises a flag. The first
/// thread of block 1 waits for it, then all threads of the block read the words.
Report handOverByOne(const std::string &release, const std::string &acquire,
                     const std::string &flagRead = "[%x0]") {
  TestKernel kernel(TestKernel::wrap(std::string(prologue) + R"(
mov.u32 %r1, %ctaid.x; setp.ne.u32 %p0, %r1, 0; setp.ne.u32 %p2, %t, 0; @%p0 bra B;
st.global.u32 [%x1+64], 7; bar.sync 0; @%p2 ret;
)" + release + R"( %r5, [%x0], 1; ret;
B: @%p2 bra READ;
POLL: )" + acquire + " %r2, " + flagRead +
                                         R"(; setp.eq.u32 %p1, %r2, 0; @%p1 bra POLL;
READ: bar.sync 0; ld.global.u32 %r3, [%x1+64]; st.global.u32 [%x1+512], %r3; ret;)",
                                     1));
  std::vector<uint32_t> words(256);
  words[4] = 1; // a flag that is never raised
  kernel.buffer(words);
  return kernel.run(2, 64);
}

TEST(Check, MessagesNameTheRelaxedSideOfAnotherThread) {
  auto help = [](const Report &report) {
    EXPECT_EQ(report.findings.size(), 1u) << text(report);
    return report.findings.empty() ? "" : report.findings[0].helps.at(0);
  };
  const std::string exch = "atom.relaxed.gpu.global.exch.b32";
  const std::string load = "ld.acquire.gpu.global.u32";
  EXPECT_CLEAN(handOverByOne("atom.release.gpu.global.exch.b32", load));
  EXPECT_EQ(help(handOverByOne(exch, load)),
            "the release between them is missing: `" + exch +
                "` writes what the other thread reads before its access, but releases nothing; use "
                ".release");
  EXPECT_EQ(help(handOverByOne("atom.release.gpu.global.exch.b32", "ld.relaxed.gpu.global.u32")),
            "the acquire between them is missing: `ld.relaxed.gpu.global.u32` reads what the other "
            "thread has released, but acquires nothing; use .acquire");
  // The flag that is written is not read: the threads do not communicate.
  EXPECT_EQ(help(handOverByOne(exch, load, "[%x0+16]")),
            "nothing orders them: no barrier, mbarrier or release and acquire leads from the first "
            "to the second");
}

TEST(Check, AtomicsMustIncludeEachOther) {
  auto add = [](const std::string &scope, uint32_t grid, uint32_t cluster) {
    TestKernel kernel(TestKernel::wrap(
        prologue + ("atom.relaxed" + scope + ".global.add.u32 %r1, [%x0], 1; ret;"), 1));
    kernel.buffer(std::vector<uint32_t>(1));
    LaunchConfig config;
    config.grid = {grid, 1, 1};
    config.block = {64, 1, 1};
    config.cluster = {cluster, 1, 1};
    return kernel.run(config);
  };
  EXPECT_CLEAN(add(".cta", 1, 1));
  EXPECT_CLEAN(add(".cluster", 2, 2));
  EXPECT_CLEAN(add(".gpu", 4, 2));
  EXPECT_CLEAN(add(".sys", 4, 2));
  EXPECT_FINDING(add(".cta", 2, 1), EmuDataRace);
  EXPECT_FINDING(add(".cta", 2, 2), EmuDataRace);
  Report report = add(".cluster", 4, 2);
  EXPECT_FINDING(report, EmuDataRace);
  EXPECT_EQ(
      report.findings.at(0).helps.at(0),
      "nothing orders them, and they are not atomic to each other: the scope .cluster of both "
      "is too narrow, the other thread is in another cluster; use .gpu or .sys");
}

/// A thread edits a map in global memory and copies through it.
Report editMap(const std::string &fence) {
  TestKernel kernel(TestKernel::wrap(std::string(prologue) + R"(
mbarrier.init.shared.b64 [smem+2048], 1;
ld.param.u64 %x2, [p1];
tensormap.replace.tile.global_address.global.b1024.b64 [%x2], %x0;
)" + fence + R"(
mbarrier.arrive.expect_tx.shared.b64 _, [smem+2048], 256;
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%x2, {%r15}], [smem+2048];
L: mbarrier.try_wait.parity.shared.b64 %p0, [smem+2048], 0; @!%p0 bra L;
ret;)",
                                     2));
  kernel.buffer(std::vector<uint32_t>(64));
  TensorMap map;
  map.dataType = 2;
  map.dims[0] = map.box[0] = 64;
  map.base = 1 << 20; // nowhere: only the edited map is of use
  std::vector<uint8_t> encoded(tensorMapBytes);
  encodeTensorMap(map, encoded.data());
  kernel.buffer(encoded);
  return kernel.run(1, 1);
}

TEST(Check, EditedTensorMapsMustBeAcquired) {
  EXPECT_CLEAN(editMap("fence.proxy.tensormap::generic.release.gpu;"
                       "fence.proxy.tensormap::generic.acquire.gpu [%x2], 128;"));
  EXPECT_FINDING(editMap("fence.proxy.tensormap::generic.release.gpu;"), EmuMissingProxyFence);
  // Another proxy's fence does not help.
  EXPECT_FINDING(editMap("fence.proxy.async;"), EmuMissingProxyFence);
}

TEST(Check, MuchWorkForAnInstructionUsesUpTheBudget) {
  // 256 pieces of 16 bytes are stored in every round, for ever.
  const std::string endless = R"(
st.shared.v4.u32 [%r19], {%t, %t, %t, %t}; mov.u32 %r1, 4096;
AGAIN: cp.async.bulk.global.shared::cta.bulk_group [%x0], [%r19], %r1;
cp.async.bulk.commit_group; bra AGAIN;)";
  LaunchOptions options;
  options.maxInstructions = 20000;
  Report report = check(endless, 1, options);
  EXPECT_FINDING(report, EmuNoProgress);
  EXPECT_GT(report.stats.spent, options.maxInstructions);
  EXPECT_LT(report.stats.instructions, options.maxInstructions / 2);
  // Without that, instructions are what counts, however few are allowed.
  report = check("AGAIN: add.u32 %r1, %r1, 1; bra AGAIN;", 1, options);
  EXPECT_FINDING(report, EmuNoProgress);
  EXPECT_LT(report.stats.instructions, 2 * options.maxInstructions);
}

TEST(Check, LaunchesAreChecked) {
  TestKernel kernel(TestKernel::wrap("ret;", 1));
  kernel.emptyBuffer(16);
  EXPECT_FINDING(kernel.run(1, 2048), EmuBadLaunch);
  LaunchConfig config;
  config.dynamicShared = 1 << 20;
  EXPECT_FINDING(kernel.run(config), EmuBadLaunch);
  config = {};
  config.grid = {3, 1, 1};
  config.cluster = {2, 1, 1};
  EXPECT_FINDING(kernel.run(config), EmuBadLaunch);
}

} // namespace
