//===- StandstillTest.cpp - Loops that poll memory ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that polls memory is a deadlock if no thread will change what it reads, and
// not before that is certain: loops with a limit end on their own.
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

/// A report must not take more instructions than two seconds allow on a slow host.
constexpr uint64_t soon = 4000000;

/// Runs \p body by \p blocks blocks of 32 threads. The address of a flag, which is zero, is in %x0,
/// that of a result in %x1, and the number of the block in %b.
struct Polls {
  explicit Polls(const std::string &body, unsigned blocks = 2, unsigned threads = 32) {
    LaunchOptions options;
    options.maxInstructions = 20 * soon;
    for (Timing timing : {Timing::Eager, Timing::Lazy, Timing::Random}) {
      TestKernel kernel(TestKernel::wrap(
          ".reg .b32 %r<9>, %b; .reg .b64 %x<9>; .reg .pred %p<9>; .shared .align 4 .b8 s[4];\n"
          "ld.param.u64 %x0, [p0]; ld.param.u64 %x1, [p1]; mov.u32 %b, %ctaid.x;\n" +
              body + "ret;",
          2, "", "sm_90"));
      uint64_t flag = kernel.buffer(std::vector<uint32_t>(4));
      uint64_t result = kernel.buffer(std::vector<uint32_t>(1));
      options.timing = timing;
      Report report = kernel.run(blocks, threads, options);
      if (timing == Timing::Eager || !report.findings.empty())
        first = report;
      most = std::max(most, report.stats.instructions);
      deadlocks += report.has(EmuDeadlock);
      findings += report.findings.size();
      flags = kernel.read<uint32_t>(flag, 4);
      value = kernel.read<uint32_t>(result, 1)[0];
    }
  }
  bool isDeadlock() const { return deadlocks == 3 && findings == 3 && most < soon; }
  bool isClean() const { return findings == 0; }

  Report first;
  uint64_t most = 0;
  unsigned deadlocks = 0;
  size_t findings = 0;
  std::vector<uint32_t> flags;
  uint32_t value = 0;
};

/// The fact "ptx_line" of the first finding.
std::string lineOf(const Polls &polls) {
  for (const auto &[key, text] : polls.first.findings.at(0).facts)
    if (key == "ptx_line")
      return text;
  return "";
}

const std::string raised = "setp.eq.u32 %p2, %b, 1; @%p2 st.release.gpu.global.u32 [%x0], 1;\n";
const std::string poll = "L: ld.acquire.gpu.global.u32 %r1, [%x0];\n"
                         "setp.eq.u32 %p1, %r1, 0; @%p1 bra L;\n";
const std::string swap = "L: atom.acquire.gpu.global.cas.b32 %r1, [%x0], 1, 2;\n"
                         "setp.eq.u32 %p1, %r1, 0; @%p1 bra L;\n";

} // namespace

TEST(Standstill, AFlagThatNobodyRaises) {
  Polls polls(poll);
  ASSERT_TRUE(polls.isDeadlock()) << text(polls.first);
  EXPECT_EQ(lineOf(polls), "8") << text(polls.first);
  const std::string &message = polls.first.findings[0].message;
  EXPECT_NE(message.find("2 blocks"), std::string::npos) << message;
  EXPECT_NE(message.find("a change of "), std::string::npos) << message;
  EXPECT_TRUE(Polls(raised + poll).isClean());
}

TEST(Standstill, CompareAndSwapPolls) {
  Polls polls(swap);
  ASSERT_TRUE(polls.isDeadlock()) << text(polls.first);
  EXPECT_EQ(lineOf(polls), "8") << text(polls.first);
  EXPECT_TRUE(Polls(raised + swap).isClean());
}

TEST(Standstill, OneBlock) {
  EXPECT_TRUE(Polls(poll, 1).isDeadlock());
  EXPECT_TRUE(Polls(swap, 1).isDeadlock());
  // A poll of shared memory.
  EXPECT_TRUE(Polls("mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0;\n"
                    "@%p2 st.shared.u32 [s], 0; bar.sync 0;\n"
                    "L: ld.volatile.shared.u32 %r1, [s]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;\n",
                    1)
                  .isDeadlock());
}

TEST(Standstill, OneWarpPollsAndOthersWait) {
  Polls polls("mov.u32 %r2, %tid.x; setp.ne.u32 %p2, %r2, 0; @%p2 bra E;\n" + poll +
                  "E: bar.sync 0;\n",
              2, 128);
  EXPECT_TRUE(polls.isDeadlock()) << text(polls.first);
}

TEST(Standstill, SleepsAndCountersDoNotHideIt) {
  EXPECT_TRUE(Polls("mov.u32 %r2, 1;\n"
                    "L: ld.acquire.gpu.global.u32 %r1, [%x0]; nanosleep.u32 %r2;\n"
                    "shl.b32 %r3, %r2, 1; add.u32 %r2, %r3, 1;\n"
                    "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [%x1], %r2;\n")
                  .isDeadlock());
}

TEST(Standstill, ClocksDoNotHideIt) {
  // Each try is 100 cycles after the last one.
  EXPECT_TRUE(Polls("L: mov.u64 %x2, %clock64;\n"
                    "W: mov.u64 %x3, %clock64; sub.u64 %x3, %x3, %x2;\n"
                    "setp.lt.u64 %p2, %x3, 100; @%p2 bra W;\n"
                    "ld.acquire.gpu.global.u32 %r1, [%x0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;\n")
                  .isDeadlock());
}

TEST(Standstill, LoopsWithALimitEnd) {
  // After 50000 tries.
  EXPECT_TRUE(Polls("mov.u32 %r2, 0;\n"
                    "L: ld.acquire.gpu.global.u32 %r1, [%x0]; add.u32 %r2, %r2, 1;\n"
                    "setp.ne.u32 %p2, %r1, 0; setp.lt.and.u32 %p1, %r2, 50000, !%p2;\n"
                    "@%p1 bra L;\n")
                  .isClean());
  // After 2^40 cycles.
  EXPECT_TRUE(Polls("mov.u64 %x2, %clock64;\n"
                    "L: ld.acquire.gpu.global.u32 %r1, [%x0]; setp.ne.u32 %p2, %r1, 0;\n"
                    "mov.u64 %x3, %clock64; sub.u64 %x3, %x3, %x2;\n"
                    "setp.lt.and.u64 %p1, %x3, 1099511627776, !%p2; @%p1 bra L;\n")
                  .isClean());
}

TEST(Standstill, AWriterMayBeSlow) {
  // Block 1 computes for long before it raises the flag.
  EXPECT_TRUE(Polls("setp.eq.u32 %p2, %b, 0; @%p2 bra L; mov.u32 %r2, 0;\n"
                    "C: add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 600000; @%p3 bra C;\n" +
                    raised + poll)
                  .isClean());
}

TEST(Standstill, TheLastBlockMayStartLate) {
  // More blocks than SMs, which fit at the same time.
  EXPECT_TRUE(
      Polls("setp.eq.u32 %p2, %b, 399; @%p2 st.release.gpu.global.u32 [%x0], 1;\n" + poll, 400, 1)
          .isClean());
  // Nothing can start before the first blocks end: no GPU has room for all of them.
  EXPECT_TRUE(
      Polls("setp.eq.u32 %p2, %b, 5999; @%p2 st.release.gpu.global.u32 [%x0], 1;\n" + poll, 6000, 1)
          .deadlocks);
}

TEST(Standstill, AnEndlessComputationIsNoDeadlock) {
  Polls polls("L: add.u32 %r2, %r2, 1; bra L;\n");
  EXPECT_EQ(polls.deadlocks, 0u);
  EXPECT_TRUE(polls.first.has(EmuNoProgress));
}
