//===- TraceTest.cpp - Which block is traced ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTX/InstructionTable.h"
#include "TestKernel.h"

#include <set>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// Only one block of the grid has something to wait for: its first warp is late.
std::string waitsIn(unsigned x, unsigned y) {
  return TestKernel::wrap(R"(
.reg .b32 %r<9>; .reg .pred %p<9>;
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y;
setp.ne.u32 %p0, %r0, )" + std::to_string(x) +
                              R"(; @%p0 bra DONE;
setp.ne.u32 %p1, %r1, )" + std::to_string(y) +
                              R"(; @%p1 bra DONE;
mov.u32 %r2, %tid.x; setp.ge.u32 %p2, %r2, 32; @%p2 bra MEET;
mov.u32 %r3, 0;
LATE: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 20; @%p3 bra LATE;
MEET: bar.sync 0;
DONE: ret;)",
                          0);
}

/// One cycle for everything.
struct SimplePace : Pace {
  InstructionTimes times(const ptx::Instruction &) const override { return {}; }
  AsyncTimes times(const AsyncWork &) const override { return {}; }
};

/// The blocks whose trace shows the wait.
std::set<uint32_t> seenFrom(const LaunchConfig &config, unsigned x, unsigned y) {
  std::set<uint32_t> seen;
  for (uint32_t block = 0; block < config.grid[0] * config.grid[1]; ++block) {
    TestKernel kernel(waitsIn(x, y));
    LaunchOptions options;
    options.timing = Timing::Paced;
    SimplePace pace;
    options.pace = &pace;
    options.threads = 1;
    options.traceBlock = block;
    options.onTrace = [&](const TraceEvent &event) {
      if (event.kind == TraceEvent::Wait)
        seen.insert(block);
    };
    Report report = kernel.run(config, options);
    EXPECT_CLEAN(report);
  }
  return seen;
}

TEST(Trace, BlocksAreCountedAlongXFirst) {
  LaunchConfig config;
  config.grid = {4, 2, 1};
  config.block = {64, 1, 1};
  EXPECT_EQ(seenFrom(config, 2, 1), (std::set<uint32_t>{6}));
  EXPECT_EQ(seenFrom(config, 0, 0), (std::set<uint32_t>{0}));
}

/// Loads take 500 cycles, everything else one.
struct LatePace : SimplePace {
  InstructionTimes times(const ptx::Instruction &inst) const override {
    InstructionTimes times;
    times.latency = inst.form->name == "ld" && inst.has(".global") ? 500 : 0;
    return times;
  }
};

// A warp works on one source line, waits for the register that a load writes, and goes on
// with the next line.
TEST(Trace, WorkAndWaitsForRegisters) {
  TestKernel kernel(TestKernel::wrap(R"(
.reg .b32 %r<4>; .reg .b64 %rd<3>;
.loc 1 5 1
ld.param.u64 %rd1, [p0]; cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r0, %tid.x; shl.b32 %r0, %r0, 2; cvt.u64.u32 %rd2, %r0; add.u64 %rd1, %rd1, %rd2;
ld.global.u32 %r1, [%rd1];
.loc 1 6 1
add.u32 %r2, %r1, 1;
st.global.u32 [%rd1], %r2;
ret;)",
                                     1, ".file 1 \"k.cu\"\n"));
  kernel.buffer(std::vector<uint32_t>(32));
  LaunchOptions options;
  options.timing = Timing::Paced;
  LatePace pace;
  options.pace = &pace;
  options.threads = 1;
  std::vector<TraceEvent> work, waits;
  options.onTrace = [&](const TraceEvent &event) {
    (event.kind == TraceEvent::Work ? work : waits).push_back(event);
  };
  LaunchConfig config;
  config.block = {32, 1, 1};
  EXPECT_CLEAN(kernel.run(config, options));
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].kind, TraceEvent::Wait);
  EXPECT_EQ(waits[0].what, "a register that a load writes");
  EXPECT_EQ(waits[0].sourceLine, 6u);
  EXPECT_NEAR(double(waits[0].end - waits[0].start), 500, 5);
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].sourceLine, 5u);
  EXPECT_EQ(work[1].sourceLine, 6u);
  EXPECT_LE(work[0].end, waits[0].start);
  EXPECT_GE(work[1].start, waits[0].end);
}

TEST(Trace, AClusterIsTracedAsAWhole) {
  LaunchConfig config;
  config.grid = {4, 2, 1};
  config.block = {64, 1, 1};
  config.cluster = {2, 1, 1};
  EXPECT_EQ(seenFrom(config, 2, 1), (std::set<uint32_t>{6, 7}));
  config.cluster = {1, 2, 1};
  EXPECT_EQ(seenFrom(config, 2, 1), (std::set<uint32_t>{2, 6}));
}

} // namespace
