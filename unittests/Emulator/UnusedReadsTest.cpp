//===- UnusedReadsTest.cpp - Racing loads of values that nobody uses ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two warps load 32 words; warp 0 stores what it computes in place. Each case
// says whether a value that warp 1 loads late is used.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Tier.h"
#include "TestKernel.h"

#include <random>

using namespace penstock;
using namespace penstock::emu;

namespace {

const std::string start = R"(
.reg .b32 %t, %r<30>; .reg .b64 %x<9>; .reg .pred %p<9>; .reg .f32 %f<9>; .reg .b16 %h<9>;
.shared .align 16 .b8 smem[256];
mov.u32 %t, %tid.x; ld.param.u64 %x0, [p0]; ld.param.u64 %x3, [p1];
and.b32 %r0, %t, 31; mul.wide.u32 %x1, %r0, 4; add.u64 %x2, %x3, %x1; add.u64 %x1, %x0, %x1;
setp.lt.u32 %p0, %t, 32;
)";
const std::string load = "ld.global.b32 %r1, [%x1];";
const std::string store = "@%p0 st.global.b32 [%x1], %r2;";

Report run(const std::string &body, LaunchOptions options = {}) {
  TestKernel kernel(TestKernel::wrap(start + body + "\nret;", 2));
  kernel.buffer(std::vector<uint32_t>(64, 3));
  kernel.buffer(std::vector<uint32_t>(64, 5));
  return kernel.run(1, 64, options);
}

/// Tier of the only kind of finding: PS1775 of tier note, or PS2101 of tier wrong.
bool isUnused(const Report &report) {
  EXPECT_NE(report.has(EmuUnusedRead), report.has(EmuDataRace)) << text(report);
  for (const Diagnostic &finding : report.findings) {
    if (finding.code == EmuUnusedRead) {
      EXPECT_EQ(tierOf(finding), Tier::Note) << text(report);
    }
    if (finding.code == EmuDataRace) {
      EXPECT_EQ(tierOf(finding), Tier::Wrong) << text(report);
    }
  }
  return report.has(EmuUnusedRead);
}

TEST(UnusedReads, OnlyTheWarpThatStoresUsesTheValue) {
  for (const std::string &compute :
       {"add.u32 %r2, %r1, 1;",
        "cvt.rn.f32.u32 %f0, %r1; mul.f32 %f0, %f0, 0f40000000; "
        "cvt.rzi.u32.f32 %r2, %f0;",
        // A comparison of the value chooses what is stored.
        "setp.gt.u32 %p1, %r1, 2; selp.b32 %r2, 7, %r1, %p1;",
        "setp.gt.u32 %p1, %r1, 2; mov.u32 %r2, 1; @%p1 add.u32 %r2, %r1, 4;",
        "mov.b32 {%h0, %h1}, %r1; mov.b32 %r2, {%h1, %h0};"})
    EXPECT_TRUE(isUnused(run(load + compute + store))) << compute;
  // Without the load there is nothing to report, and without replicas, either.
  EXPECT_CLEAN(run("mov.u32 %r2, 1;" + store));
  EXPECT_CLEAN(run("@%p0 " + load + "add.u32 %r2, %r1, 1;" + store));
}

TEST(UnusedReads, BranchesInsteadOfGuards) {
  EXPECT_TRUE(
      isUnused(run(load + "add.u32 %r2, %r1, 1; @!%p0 bra END; st.global.b32 [%x1], %r2; END:")));
  EXPECT_FALSE(isUnused(run(load + "add.u32 %r2, %r1, 1; setp.eq.u32 %p1, %r1, 3; @!%p0 bra END;"
                                   "st.global.b32 [%x1], %r2; END: @%p1 bra LAST;"
                                   "mov.u32 %r3, 1; LAST:")));
}

TEST(UnusedReads, WhatElseUsesTheValue) {
  const std::string compute = "add.u32 %r2, %r1, 1;";
  for (const std::string &use :
       {"st.global.b32 [%x2], %r2;",       // by both warps
        "@!%p0 st.global.b32 [%x2], %r2;", // by the late one
        "st.shared.b32 [smem], %r2;",      // exchanged
        "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;",
        "mul.wide.u32 %x4, %r2, 4; add.u64 %x4, %x4, %x3; @%p0 st.global.b32 [%x4], 1;",
        "mul.wide.u32 %x4, %r2, 4; add.u64 %x4, %x4, %x3; ld.global.b32 %r3, [%x4];",
        "setp.eq.u32 %p1, %r2, 4; @%p1 st.global.b32 [%x2+128], 1;", // a guard
        "@%p0 red.global.add.u32 [%x2], %r2;", "@%p0 st.volatile.global.b32 [%x2], %r2;",
        "add.cc.u32 %r3, %r2, 1; addc.u32 %r4, 0, 0; st.global.b32 [%x2], %r4;"})
    EXPECT_FALSE(isUnused(run(load + compute + store + use))) << use;
  // A value that no thread can use says nothing.
  EXPECT_FALSE(isUnused(run(load + "mov.u32 %r2, 1;" + store)));
  // A second store that only warp 0 executes is no use.
  EXPECT_TRUE(isUnused(run(load + compute + store + "@%p0 st.global.b32 [%x2], %r2;")));
}

TEST(UnusedReads, AccessesMustBeOfOneBlockSizeAndKind) {
  // Elements of different sizes.
  EXPECT_FALSE(isUnused(run(load + "add.u32 %r2, %r1, 1; @%p0 st.global.v2.b16 [%x1], {%h0, %h0};"
                                   "mov.b16 %h0, 1;")));
  EXPECT_TRUE(isUnused(run(load + "mov.b32 %f0, %r1; @%p0 st.global.f32 [%x1], %f0;")));
  // The racing store is strong.
  EXPECT_FALSE(
      isUnused(run(load + "add.u32 %r2, %r1, 1; @%p0 st.relaxed.gpu.global.b32 [%x1], %r2;")));
  // Blocks.
  TestKernel kernel(TestKernel::wrap(start + "mov.u32 %r9, %ctaid.x; setp.eq.u32 %p0, %r9, 0;" +
                                         load + "add.u32 %r2, %r1, 1;" + store + "ret;",
                                     2));
  kernel.buffer(std::vector<uint32_t>(64, 3));
  kernel.buffer(std::vector<uint32_t>(64, 5));
  EXPECT_FALSE(isUnused(kernel.run(2, 32)));
}

TEST(UnusedReads, ALaunchThatDoesNotEndProvesNothing) {
  LaunchOptions options;
  options.maxInstructions = 10000;
  Report report = run(load + "add.u32 %r2, %r1, 1;" + store + "AGAIN: bra AGAIN;", options);
  EXPECT_FALSE(report.completed);
  EXPECT_FINDING(report, EmuDataRace);
  EXPECT_FALSE(report.has(EmuUnusedRead)) << text(report);
}

TEST(UnusedReads, ReplicatedLanes) {
  // Lanes 16 to 31 of a warp load the elements of lanes 0 to 15, which store them.
  const std::string half = "and.b32 %r0, %t, 15; mul.wide.u32 %x1, %r0, 4; add.u64 %x1, %x0, %x1;"
                           "setp.lt.u32 %p0, %t, 16;" +
                           load + "add.u32 %r2, %r1, 1;";
  EXPECT_TRUE(isUnused(run(half + store)));
  EXPECT_FALSE(isUnused(run(half + store + "st.global.b32 [%x2], %r2;")));
}

/// Random kernels: a chain of arithmetic, a store in place by warp 0, and stores elsewhere by
/// random sets of warps. The value is used late if warp 1 stores anything that depends on it.
TEST(UnusedReads, RandomKernels) {
  std::mt19937 random(11);
  auto pick = [&](unsigned n) { return unsigned(random() % n); };
  for (unsigned round = 0; round < 100; ++round) {
    std::string body = load + "setp.ge.u32 %p1, %t, 32; setp.ge.u32 %p2, %t, 64; mov.u32 %r9, 9;";
    std::vector<bool> depends(30); // registers
    depends[1] = true;
    for (unsigned i = 10; i < 16; ++i) {
      unsigned a = pick(2) ? 1 : i == 10 ? 9 : 10 + pick(i - 10), b = pick(3) ? 9 : 1;
      body += "add.u32 %r" + std::to_string(i) + ", %r" + std::to_string(a) + ", %r" +
              std::to_string(b) + ";";
      depends[i] = depends[a] || depends[b];
    }
    body += "add.u32 %r2, %r1, 1;" + store; // so that some store has the value
    bool used = false;
    for (unsigned i = 0; i < 3; ++i) {
      unsigned value = 10 + pick(6), guard = pick(4); // warp 0, warp 1, none, both
      const char *const guards[] = {"@%p0 ", "@%p1 ", "@%p2 ", ""};
      // Each its own words, and each warp its own.
      body += "mul.wide.u32 %x5, %t, 4; add.u64 %x5, %x5, %x3;" + std::string(guards[guard]) +
              "st.global.b32 [%x5], %r" + std::to_string(value) + ";";
      used |= depends[value] && (guard == 1 || guard == 3);
    }
    Report report = run(body);
    ASSERT_EQ(isUnused(report), !used) << body;
  }
}

} // namespace
