//===- TimelineTest.cpp - Steps between two conflicting accesses ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EmulatorApi/Html.h"
#include "TestKernel.h"

#include <gmock/gmock.h>

namespace penstock::emu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// A thread of warp 0 copies 16 bytes to shared memory; warp 1 reads them behind a barrier of
/// threads, which does not wait for the copy.
const char *const early = R"(.reg .b32 %r<4>; .reg .b64 %x<3>; .reg .pred %p<2>;
.shared .align 16 .b8 tile[16]; .shared .align 8 .b64 bar;
ld.param.u64 %x0, [p0]; mov.u32 %r0, %tid.x;
setp.ne.u32 %p0, %r0, 0; @%p0 bra READY;
mbarrier.init.shared.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x0], 16, [bar];
READY: bar.sync 0;
setp.lt.u32 %p1, %r0, 32; @%p1 bra WAIT;
ld.shared.u32 %r1, [tile];
WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;
ret;)";

Report run(Timing timing, bool timeline) {
  TestKernel kernel(TestKernel::wrap(early, 1));
  kernel.buffer(std::vector<uint32_t>(4, 7));
  LaunchOptions options;
  options.timing = timing;
  options.timeline = timeline;
  options.threads = 1;
  return kernel.run(1, 64, options);
}

/// Mark, name and instruction of each step of the only finding.
std::vector<std::string> stepsOf(const Report &report) {
  std::vector<std::string> steps;
  for (const auto &[key, value] : report.findings.at(0).facts) {
    if (key != "timeline")
      continue;
    std::string row;
    int tabs = 0;
    for (char c : value + "\n")
      if (c == '\n') {
        steps.push_back(std::exchange(row, ""));
        tabs = 0;
      } else if ((tabs += c == '\t') < 3) {
        row += c == '\t' ? ' ' : c;
      }
  }
  return steps;
}

const char *const copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";

TEST(Timeline, HasTheSynchronizationBetweenTheAccesses) {
  Report report = run(Timing::Eager, true);
  ASSERT_EQ(report.findings.size(), 1u) << text(report);
  EXPECT_EQ(report.findings[0].code, unsigned(EmuDataRace));
  std::vector<std::string> steps = stepsOf(report);
  ASSERT_GE(steps.size(), 5u);
  EXPECT_EQ(steps[0], "access warp 0 " + std::string(copy));
  EXPECT_EQ(steps[1], "completes engine " + std::string(copy));
  EXPECT_EQ(steps.back(), "access warp 1 ld.shared.u32");
  // Both warps meet at the barrier, in either order, and warp 0 may have gone on to its wait.
  std::erase(steps, "step warp 0 mbarrier.try_wait.parity.shared.b64");
  EXPECT_THAT(std::vector<std::string>(steps.begin() + 2, steps.end() - 1),
              UnorderedElementsAre("step warp 0 bar.sync", "step warp 1 bar.sync"));
}

TEST(Timeline, DependsOnTheTiming) {
  // The copy is still in flight when the tile is read. Warp 0 polls meanwhile, or not yet.
  std::vector<std::string> steps = stepsOf(run(Timing::Lazy, true));
  EXPECT_EQ(steps.front(), "access warp 0 " + std::string(copy));
  EXPECT_EQ(steps.back(), "access warp 1 ld.shared.u32");
  for (const std::string &step : steps)
    EXPECT_NE(step, "completes engine " + std::string(copy));
}

TEST(Timeline, IsOnlyRecordedOnDemand) {
  EXPECT_THAT(stepsOf(run(Timing::Eager, false)), ElementsAre());
}

TEST(Timeline, IsATableOfThePage) {
  Report report = run(Timing::Eager, true);
  std::string page = toHtml(report.findings);
  EXPECT_THAT(page, HasSubstr("<th>warp 0</th><th>engine</th><th>warp 1</th>"));
  EXPECT_THAT(page, HasSubstr("<td></td><td></td><td class=\"access\"><code>ld.shared.u32</code>"));
  EXPECT_THAT(page, HasSubstr("</code> completes"));
}

} // namespace
} // namespace penstock::emu
