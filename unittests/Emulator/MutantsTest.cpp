//===- MutantsTest.cpp - Kernels without a synchronizing instruction ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Mutants.h"
#include "TestKernel.h"
#include "penstock/penstock_emu.h"

#include <gmock/gmock.h>

#include <memory>

namespace penstock::emu {
namespace {

using testing::HasSubstr;

/// Two warps exchange words through shared memory, twice. One of the first two barriers is
/// redundant, the third is needed, the last is behind a condition that never holds.
const char *const exchange = R"(.reg .b32 %r<8>; .reg .b64 %x<3>; .reg .pred %p<2>;
.shared .align 4 .b8 tile[256];
ld.param.u64 %x0, [p0]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile;
mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0;
bar.sync 0;
bar.sync 1;
sub.u32 %r3, 63, %r0; mad.lo.u32 %r4, %r3, 4, %r1; ld.shared.u32 %r5, [%r4];
bar.sync 0;
st.shared.u32 [%r2], %r5;
mad.wide.u32 %x1, %r0, 4, %x0; ld.global.u32 %r6, [%x1]; add.u32 %r6, %r6, %r5; st.global.u32 [%x1], %r6;
setp.lt.u32 %p0, %r0, 64;
@%p0 bra DONE;
bar.sync 2;
DONE: ret;)";

LaunchConfig twoWarps(const TestKernel &kernel) {
  LaunchConfig config;
  config.block = {64, 1, 1};
  config.params = kernel.params.bytes;
  return config;
}

/// The line of \p text in the test's kernels, of which it is the only one from \p after on.
uint32_t lineOf(const TestKernel &kernel, const std::string &text, uint32_t after = 0) {
  for (uint32_t line = after + 1; line < 100; ++line)
    if (kernel.module->module->line(line).find(text) != std::string::npos)
      return line;
  return 0;
}

std::string factOf(const Diagnostic &d, const std::string &name) {
  for (const auto &[key, value] : d.facts)
    if (key == name)
      return value;
  return "";
}

TEST(Mutants, SurvivorsAndUnexecutedInstructionsAreListed) {
  TestKernel kernel(TestKernel::wrap(exchange, 1));
  std::vector<uint32_t> ones(64, 1);
  uint64_t out = kernel.buffer(ones);
  MutantReport report = runMutants(kernel.device, *kernel.module, "k", twoWarps(kernel));
  ASSERT_TRUE(report.ran);
  EXPECT_EQ(report.mutants, 4u);
  EXPECT_EQ(report.detected(), 1u);
  EXPECT_EQ(report.survivors, 2u);
  EXPECT_EQ(report.unexecuted, 1u);
  ASSERT_EQ(report.findings.size(), 3u);
  uint32_t first = lineOf(kernel, "bar.sync 0"), second = lineOf(kernel, "bar.sync 1");
  EXPECT_EQ(factOf(report.findings[0], "ptx_line"), std::to_string(first));
  EXPECT_EQ(factOf(report.findings[0], "redundant"), "alone");
  EXPECT_EQ(factOf(report.findings[1], "ptx_line"), std::to_string(second));
  EXPECT_EQ(factOf(report.findings[1], "redundant"), "with " + std::to_string(first));
  EXPECT_EQ(report.findings[2].code, EmuSyncNotExecuted);
  EXPECT_EQ(factOf(report.findings[2], "ptx_line"), std::to_string(lineOf(kernel, "bar.sync 2")));
  // All lines with instructions but that of the last barrier; the label's line has `ret`.
  EXPECT_EQ(report.executedLines + 1, report.lines);
  EXPECT_THAT(report.summary(), HasSubstr("4 mutants: 1 detected, 2 survivors, 1 never executed"));
  // Every run began with the same memory, and so does what comes next.
  EXPECT_EQ(kernel.read<uint32_t>(out, 64), ones);
}

/// Warps 1 and 2 read by one instruction what warp 0 writes. Only warp 2 waits for it, so the
/// kernel has a race, and without the barrier the same race with one more warp.
TEST(Mutants, ARaceOfOtherWarpsHidesNone) {
  TestKernel kernel(TestKernel::wrap(R"(.reg .b32 %r<8>; .reg .b64 %x<3>; .reg .pred %p<3>;
.shared .align 4 .b8 tile[128];
ld.param.u64 %x0, [p0]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31;
mov.u32 %r3, tile; mad.lo.u32 %r3, %r2, 4, %r3;
setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1;
@%p0 st.shared.u32 [%r3], %r0;
@%p1 bra READ;
bar.sync 1, 64;
@%p0 bra DONE;
READ: ld.shared.u32 %r4, [%r3];
mad.wide.u32 %x1, %r0, 4, %x0; st.global.u32 [%x1], %r4;
DONE: ret;)",
                                     1));
  kernel.emptyBuffer(96 * 4);
  LaunchConfig config = twoWarps(kernel);
  config.block = {96, 1, 1};
  MutantReport report = runMutants(kernel.device, *kernel.module, "k", config);
  ASSERT_TRUE(report.ran);
  EXPECT_EQ(report.mutants, 1u);
  EXPECT_EQ(report.detected(), 1u);
}

TEST(Mutants, GuardedWaitsKeepTheirGuard) {
  // The second warp publishes a word by an mbarrier; every lane of the first one awaits it.
  TestKernel kernel(TestKernel::wrap(R"(.reg .b32 %r<4>; .reg .b64 %x<3>; .reg .pred %p<4>;
.shared .align 8 .b64 bar; .shared .align 4 .b32 word;
ld.param.u64 %x0, [p0]; mov.u32 %r0, %tid.x;
setp.ne.u32 %p0, %r0, 0; @%p0 bra READY;
mbarrier.init.shared.b64 [bar], 1;
READY: bar.sync 0;
setp.lt.u32 %p1, %r0, 32; @%p1 bra READ;
setp.ne.u32 %p0, %r0, 32; @%p0 bra DONE;
st.shared.u32 [word], 7;
mbarrier.arrive.shared.b64 %x1, [bar];
bra DONE;
READ:
@%p1 mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra READ;
ld.shared.u32 %r1, [word];
mad.wide.u32 %x1, %r0, 4, %x0; st.global.u32 [%x1], %r1;
DONE: ret;)",
                                     1));
  kernel.emptyBuffer(128);
  MutantReport report = runMutants(kernel.device, *kernel.module, "k", twoWarps(kernel));
  ASSERT_TRUE(report.ran);
  // Barrier, arrival and wait: each is needed.
  EXPECT_EQ(report.mutants, 3u);
  EXPECT_EQ(report.detected(), 3u);
}

TEST(Mutants, TimingsMayDifferInLength) {
  // The first warp polls a flag that the second one sets after long work: how often, depends on
  // the timing. The first barrier keeps a late warp from clearing the flag, the others are
  // redundant.
  TestKernel kernel(TestKernel::wrap(R"(.reg .b32 %r<4>; .reg .b64 %x<3>; .reg .pred %p<4>;
.shared .align 4 .b32 flag;
ld.param.u64 %x0, [p0]; mov.u32 %r0, %tid.x;
st.relaxed.cta.shared.u32 [flag], 0;
bar.sync 0;
setp.lt.u32 %p1, %r0, 32; @%p1 bra POLL;
mov.u32 %r2, 0;
WORK: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3000; @%p2 bra WORK;
st.release.cta.shared.u32 [flag], 1;
bra DONE;
POLL: ld.acquire.cta.shared.u32 %r1, [flag]; setp.eq.u32 %p3, %r1, 0; @%p3 bra POLL;
DONE:
bar.sync 0;
bar.sync 0;
mad.wide.u32 %x1, %r0, 4, %x0; st.global.u32 [%x1], %r0;
ret;)",
                                     1));
  kernel.emptyBuffer(256);
  MutantReport report = runMutants(kernel.device, *kernel.module, "k", twoWarps(kernel), 6);
  ASSERT_TRUE(report.ran);
  EXPECT_EQ(report.mutants, 3u);
  EXPECT_EQ(report.survivors, 2u) << render(report.findings);
}

TEST(Mutants, LaunchesThatCannotRunSayWhy) {
  TestKernel kernel(TestKernel::wrap(exchange, 1));
  MutantReport report = runMutants(kernel.device, *kernel.module, "k", twoWarps(kernel));
  EXPECT_FALSE(report.ran);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].code, EmuBadLaunch);
}

TEST(Mutants, HaveACFunction) {
  std::string text = TestKernel::wrap(exchange, 1);
  std::unique_ptr<penstock_emu_device, void (*)(penstock_emu_device *)> device(
      penstock_emu_device_create(), penstock_emu_device_destroy);
  penstock_emu_module *module =
      penstock_emu_load(device.get(), text.data(), text.size(), "k.ptx", nullptr);
  ASSERT_TRUE(module);
  uint64_t out = penstock_emu_alloc(device.get(), 256, "out");
  std::vector<uint32_t> ones(64, 1);
  ASSERT_EQ(penstock_emu_write(device.get(), out, ones.data(), 256), 0);
  penstock_emu_launch launch = {};
  launch.size = sizeof launch;
  for (int d = 0; d < 3; ++d)
    launch.grid[d] = launch.block[d] = 1;
  launch.block[0] = 64;
  launch.parameters = &out;
  launch.parameter_bytes = sizeof out;
  penstock_emu_mutants counts = {};
  counts.size = sizeof counts;
  using ReportPtr = std::unique_ptr<penstock_emu_report, void (*)(penstock_emu_report *)>;
  ReportPtr report(penstock_emu_mutate(device.get(), module, "k", &launch, 2, &counts),
                   penstock_emu_report_destroy);
  EXPECT_TRUE(penstock_emu_report_completed(report.get()));
  EXPECT_EQ(counts.mutants, 4u);
  EXPECT_EQ(counts.detected, 1u);
  EXPECT_EQ(counts.unexecuted, 1u);
  EXPECT_THAT(penstock_emu_report_render(report.get(), PENSTOCK_EMU_TEXT),
              HasSubstr("never executes `bar.sync`"));
  ReportPtr absent(penstock_emu_mutate(device.get(), module, "absent", &launch, 2, nullptr),
                   penstock_emu_report_destroy);
  EXPECT_FALSE(penstock_emu_report_completed(absent.get()));
  EXPECT_THAT(penstock_emu_report_render(absent.get(), PENSTOCK_EMU_TEXT),
              HasSubstr("the module does not have this kernel"));
}

} // namespace
} // namespace penstock::emu
