//===- RepairTest.cpp - Patches for findings ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Repair/Repair.h"
#include "Emulator/Repair/ControlFlow.h"
#include "Emulator/Repair/Study.h"
#include "Emulator/Repair/TextDiff.h"
#include "PTX/Parser.h"
#include "TestKernel.h"

#include <gmock/gmock.h>

#include <random>

namespace penstock::emu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Thread i stores i and loads what thread 63 - i has stored. \p between orders the two.
std::string exchange(const std::string &between) {
  return R"(.reg .b32 %r<8>; .reg .b64 %x<3>;
.shared .align 4 .b8 tile[256];
ld.param.u64 %x0, [p0];
mov.u32 %r0, %tid.x;
mov.u32 %r1, tile;
mad.lo.u32 %r2, %r0, 4, %r1;
st.shared.u32 [%r2], %r0;
)" + between +
         R"(
sub.u32 %r3, 63, %r0;
mad.lo.u32 %r4, %r3, 4, %r1;
ld.shared.u32 %r5, [%r4];
mad.wide.u32 %x1, %r0, 4, %x0;
st.global.u32 [%x1], %r5;
ret;)";
}

/// 64 threads fill a tile, and thread 0 copies it by the async proxy.
std::string store(const std::string &between) {
  return R"(.reg .b32 %r<8>; .reg .b64 %x<3>; .reg .pred %p<2>;
.shared .align 128 .b8 tile[256];
ld.param.u64 %x0, [p0];
mov.u32 %r0, %tid.x;
mov.u32 %r1, tile;
mad.lo.u32 %r2, %r0, 4, %r1;
st.shared.u32 [%r2], %r0;
)" + between +
         R"(
setp.ne.u32 %p0, %r0, 0;
@%p0 bra DONE;
cp.async.bulk.global.shared::cta.bulk_group [%x0], [%r1], 256;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
DONE: ret;)";
}

/// Warp 1 stores a word and arrives at an mbarrier for \p count arrivals; warp 0 waits for it.
std::string handover(const std::string &count, const std::string &arrival) {
  return R"(.reg .b32 %r<4>; .reg .b64 %x<3>; .reg .pred %p<4>;
.shared .align 8 .b64 bar; .shared .align 4 .b32 word;
ld.param.u64 %x0, [p0];
mov.u32 %r0, %tid.x;
mov.u32 %r2, bar;
setp.ne.u32 %p0, %r0, 0;
@%p0 bra READY;
mbarrier.init.shared.b64 [%r2], )" +
         count + R"(;
READY:
bar.sync 0;
setp.lt.u32 %p1, %r0, 32;
@%p1 bra READ;
setp.ne.u32 %p0, %r0, 32;
@%p0 bra DONE;
st.shared.u32 [word], 7;
)" + arrival +
         R"(
bra DONE;
READ:
mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
@!%p2 bra READ;
ld.shared.u32 %r1, [word];
mad.wide.u32 %x1, %r0, 4, %x0;
st.global.u32 [%x1], %r1;
DONE: ret;)";
}

/// Thread 0 copies \p times 256 bytes of the first buffer, one after the other; each thread adds
/// its words up. Nothing waits for the copies, and no register holds a parity.
std::string load(unsigned times) {
  return R"(.reg .b32 %r<12>; .reg .b64 %x<5>; .reg .pred %p<3>;
.shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;
ld.param.u64 %x0, [p0];
ld.param.u64 %x4, [p1];
mov.u32 %r0, %tid.x;
mov.u32 %r1, tile;
mov.u32 %r2, bar;
mad.lo.u32 %r3, %r0, 4, %r1;
mov.u32 %r5, 0;
mov.u32 %r6, 0;
setp.ne.u32 %p0, %r0, 0;
@%p0 bra READY;
mbarrier.init.shared.b64 [%r2], 1;
READY:
bar.sync 0;
LOOP:
@%p0 bra LOADED;
mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%x4], 256, [%r2];
LOADED:
ld.shared.u32 %r7, [%r3];
add.u32 %r6, %r6, %r7;
add.u64 %x4, %x4, 256;
bar.sync 0;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p1, %r5, )" +
         std::to_string(times) + R"(;
@%p1 bra LOOP;
mad.wide.u32 %x1, %r0, 4, %x0;
st.global.u32 [%x1], %r6;
ret;)";
}

/// A kernel of two warps with one output, and what repairs make of it.
class Repairs {
public:
  explicit Repairs(const std::string &body, size_t words = 64,
                   const std::vector<uint32_t> &input = {})
      : kernel(TestKernel::wrap(body, input.empty() ? 1 : 2)), words(words) {
    out = kernel.emptyBuffer(words * 4);
    if (!input.empty())
      kernel.buffer(input);
    config.block = {64, 1, 1};
    config.params = kernel.params.bytes;
    subject = subjectOf(kernel.device, *kernel.module, "k", config, 4);
  }
  RepairReport fix(RepairOptions options = {}) { return repair(subject, options); }
  /// The results of a patch, in a timing of its own; fails if it has findings.
  std::vector<uint32_t> results(const Patch &patch, uint64_t seed = 77) {
    ptx::ParseResult parsed = ptx::parse(patch.text, "patched.ptx");
    EXPECT_TRUE(parsed.module) << render(parsed.diagnostics);
    LaunchOptions timing;
    timing.timing = Timing::Random;
    timing.seed = seed;
    Trial trial = subject.run(parsed.module, timing);
    EXPECT_TRUE(trial.report.findings.empty()) << text(trial.report) << patch.diff;
    EXPECT_TRUE(trial.report.completed);
    std::vector<uint32_t> numbers(words);
    memcpy(numbers.data(), trial.results[0].data(), words * 4);
    return numbers;
  }

  TestKernel kernel;
  LaunchConfig config;
  RepairSubject subject;
  uint64_t out;
  size_t words;
};

std::vector<uint32_t> numbers(uint32_t count, bool reversed) {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < count; ++i)
    list.push_back(reversed ? count - 1 - i : i);
  return list;
}

TEST(Repair, AMissingBarrierIsInserted) {
  Repairs broken(exchange(""));
  RepairReport report = broken.fix();
  EXPECT_TRUE(report.ran);
  EXPECT_FALSE(report.findings.empty());
  ASSERT_EQ(report.patches.size(), 1u) << report.triedText();
  EXPECT_THAT(report.patches[0].inserted, ElementsAre("bar.sync 0;"));
  EXPECT_EQ(report.patches[0].strength, Strength::BlockBarrier);
  EXPECT_THAT(report.patches[0].diff, HasSubstr("\n+bar.sync 0;\n"));
  EXPECT_EQ(broken.results(report.patches[0]), numbers(64, true));
}

TEST(Repair, ACorrectKernelHasNothingToFix) {
  RepairReport report = Repairs(exchange("bar.sync 0;")).fix();
  EXPECT_TRUE(report.ran);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_TRUE(report.patches.empty());
  EXPECT_EQ(report.trials, 0u);
}

TEST(Repair, TheWeakestFenceIsFirst) {
  Repairs broken(store("bar.sync 0;"));
  RepairOptions options;
  options.patches = 2;
  RepairReport report = broken.fix(options);
  ASSERT_EQ(report.patches.size(), 2u) << report.triedText();
  EXPECT_THAT(report.patches[0].inserted, ElementsAre("fence.proxy.async.shared::cta;"));
  EXPECT_THAT(report.patches[1].inserted, ElementsAre("fence.proxy.async;"));
  for (const Patch &patch : report.patches)
    EXPECT_EQ(broken.results(patch), numbers(64, false));
}

TEST(Repair, TwoMissingThingsAreBothInserted) {
  Repairs broken(store(""));
  RepairReport report = broken.fix();
  ASSERT_EQ(report.patches.size(), 1u) << report.triedText();
  const Patch &patch = report.patches[0];
  EXPECT_THAT(patch.inserted,
              testing::UnorderedElementsAre("bar.sync 0;", "fence.proxy.async.shared::cta;"));
  EXPECT_EQ(broken.results(patch), numbers(64, false));
  // Each is needed.
  for (const std::string &line : patch.inserted) {
    std::string fewer = patch.text;
    fewer.replace(fewer.find(line), line.size(), "");
    Trial trial = broken.subject.run(ptx::parse(fewer, "fewer.ptx").module, {});
    EXPECT_FALSE(trial.report.findings.empty()) << fewer;
  }
}

TEST(Repair, AMissingArrivalIsInserted) {
  Repairs broken(handover("1", ""), 32);
  RepairReport report = broken.fix();
  ASSERT_EQ(report.patches.size(), 1u) << report.triedText();
  EXPECT_EQ(report.patches[0].strength, Strength::Arrival);
  EXPECT_EQ(broken.results(report.patches[0]), std::vector<uint32_t>(32, 7));
}

TEST(Repair, AMissingWaitIsInserted) {
  // One phase, and three, which need a counter.
  for (unsigned times : {1u, 3u}) {
    Repairs broken(load(times), 64, std::vector<uint32_t>(64 * times, 5));
    RepairReport report = broken.fix();
    ASSERT_EQ(report.patches.size(), 1u) << report.triedText();
    EXPECT_EQ(report.patches[0].strength, Strength::BarrierWait) << report.patches[0].diff;
    EXPECT_EQ(broken.results(report.patches[0]), std::vector<uint32_t>(64, 5 * times));
  }
}

TEST(Repair, AWrongCountIsCorrected) {
  Repairs broken(handover("2", "mbarrier.arrive.shared.b64 %x1, [%r2];"), 32);
  RepairReport report = broken.fix();
  ASSERT_EQ(report.patches.size(), 1u) << report.triedText();
  EXPECT_THAT(report.patches[0].inserted, ElementsAre("mbarrier.init.shared.b64 [%r2], 1;"));
  EXPECT_THAT(report.patches[0].diff, HasSubstr("\n-mbarrier.init.shared.b64 [%r2], 2;\n+"));
  EXPECT_EQ(broken.results(report.patches[0]), std::vector<uint32_t>(32, 7));
}

TEST(Repair, NoSynchronizationHelpsAnAccessOutOfBounds) {
  Repairs broken(exchange("bar.sync 0;"), 63);
  RepairReport report = broken.fix();
  EXPECT_TRUE(report.patches.empty());
  EXPECT_GT(report.trials, 0u);
  EXPECT_THAT(report.triedText(), HasSubstr("bar.sync"));
}

TEST(Repair, TheLimitOfCandidatesHolds) {
  RepairOptions options;
  options.maxTrials = 2;
  RepairReport report = Repairs(handover("1", "")).fix(options);
  EXPECT_LE(report.trials, 2u);
  EXPECT_TRUE(report.patches.empty());
}

/// The kernel is right in one timing. A runner that lets every changed kernel compute something
/// else stands for a patch that changes results.
TEST(Repair, APatchMayNotChangeRightResults) {
  Repairs broken(exchange(""));
  TrialRunner real = broken.subject.run;
  bool lies = false;
  auto original = broken.subject.module;
  broken.subject.timings.resize(2);
  broken.subject.run = [&](const std::shared_ptr<const ptx::Module> &module,
                           const LaunchOptions &options) {
    Trial trial = real(module, options);
    if (module == original && options.timing == Timing::Eager) {
      trial.report.findings.clear();
      trial.report.sites.clear();
      for (uint32_t i = 0; i < 64; ++i) {
        uint32_t value = 63 - i;
        memcpy(trial.results[0].data() + 4 * i, &value, 4);
      }
    } else if (module != original && lies) {
      trial.results[0][0] ^= 1;
    }
    return trial;
  };
  EXPECT_EQ(broken.fix().patches.size(), 1u);
  lies = true;
  EXPECT_TRUE(broken.fix().patches.empty());
}

TEST(RepairStudy, AMutantOfACorrectKernelIsRestored) {
  Repairs correct(exchange("bar.sync 0;"));
  RepairStudy study(correct.subject, {}, {});
  EXPECT_EQ(study.problem(), "");
  ASSERT_EQ(study.instructions().size(), 1u);
  RepairedMutant mutant = study.study(study.instructions()[0]);
  EXPECT_EQ(mutant.fate, RepairedMutant::Restored) << mutant.why;
  EXPECT_EQ(mutant.kind, "bar.sync");
  StudyTotals totals;
  totals.add(mutant);
  EXPECT_THAT(totals.text(), HasSubstr("mutants=1 reported=1 restored=1 wrong=0 gave_up=0"));
}

TEST(RepairStudy, PatchesAreComparedInMoreTimings) {
  Repairs correct(exchange("bar.sync 0;"));
  LaunchOptions more;
  more.timing = Timing::Random;
  more.seed = 99;
  auto original = correct.subject.module;
  TrialRunner real = correct.subject.run;
  correct.subject.run = [&](const std::shared_ptr<const ptx::Module> &module,
                            const LaunchOptions &options) {
    Trial trial = real(module, options);
    if (module != original && options.seed == 99)
      trial.results[0][0] ^= 1;
    return trial;
  };
  RepairStudy study(correct.subject, {more}, {});
  RepairedMutant mutant = study.study(study.instructions()[0]);
  EXPECT_EQ(mutant.fate, RepairedMutant::Wrong);
  EXPECT_EQ(mutant.why, "results differ");
}

TEST(RepairStudy, AKernelWithFindingsIsNotStudied) {
  Repairs broken(exchange(""));
  EXPECT_NE(RepairStudy(broken.subject, {}, {}).problem(), "");
}

TEST(RepairStudy, AnyNumberOfTheFirstIsSpread) {
  for (size_t count = 1; count < 40; ++count) {
    std::vector<size_t> order = spreadOrder(count);
    EXPECT_EQ(std::set<size_t>(order.begin(), order.end()).size(), count);
  }
}

TEST(ControlFlow, RegistersAreAssignedOnAllPaths) {
  auto parsed = ptx::parse(TestKernel::wrap(R"(.reg .b32 %r<4>; .reg .pred %p<2>;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
@%p0 bra THEN;
mov.u32 %r1, 1;
bra DONE;
THEN: mov.u32 %r1, 2;
mov.u32 %r2, 2;
DONE: bar.sync 0;
ret;)"),
                           "k.ptx");
  ASSERT_TRUE(parsed.module);
  const ptx::Function &function = *parsed.module->function("k");
  ControlFlow flow(function);
  auto reg = [&](const std::string &name) {
    for (uint32_t i = 0; i < function.registers.size(); ++i)
      if (function.registers[i].name == name)
        return i;
    return ~0u;
  };
  size_t barrier = 7;
  ASSERT_EQ(function.body[barrier]->opcode, "bar.sync");
  EXPECT_TRUE(flow.isAssigned(barrier, reg("%r0")));
  EXPECT_TRUE(flow.isAssigned(barrier, reg("%r1")));
  EXPECT_FALSE(flow.isAssigned(barrier, reg("%r2")));
  EXPECT_FALSE(flow.isUsed(reg("%r1")));
  EXPECT_TRUE(flow.isUsed(reg("%r0")));
  EXPECT_TRUE(flow.isTarget(barrier));
  EXPECT_FALSE(flow.fallsThrough(4));
  EXPECT_EQ(flow.distances({barrier})[8], 1u);
}

TEST(TextDiff, ChangesLeadFromOneTextToTheOther) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    std::string before, after;
    for (size_t line = 0, count = random() % 30; line < count; ++line) {
      std::string text = "line " + std::to_string(random() % 8) + "\n";
      switch (random() % 8) {
      case 0: // only before
        before += text;
        break;
      case 1: // only after
        after += text;
        break;
      default:
        before += text;
        after += text;
      }
    }
    std::vector<LineChange> changes = changesBetween(before, after);
    ASSERT_EQ(applyChanges(before, changes), after);
    EXPECT_EQ(changes.empty(), before == after);
    // The heads of the hunks count their lines.
    std::string diff = unifiedDiff(before, changes, "a", [](uint32_t) { return ""; });
    int removed = 0, added = 0, kept = 0, lines = 0, news = 0;
    for (const std::string &line : linesOf(diff)) {
      if (line.starts_with("---") || line.starts_with("+++"))
        continue;
      int from = 0, count = 0, to = 0, more = 0;
      if (sscanf(line.c_str(), "@@ -%d,%d +%d,%d @@", &from, &count, &to, &more) == 4) {
        lines += count;
        news += more;
        continue;
      }
      removed += line[0] == '-';
      added += line[0] == '+';
      kept += line[0] == ' ';
    }
    EXPECT_EQ(lines, removed + kept);
    EXPECT_EQ(news, added + kept);
  }
}

TEST(Edits, ALineOfItsOwnKeepsTheIndentation) {
  std::string text = "  a;\n  b; c;\nL: d;\n";
  auto insert = [&](const char *before) {
    size_t at = text.find(before);
    return applyEdits(text, {{at, at, "new;"}});
  };
  EXPECT_EQ(insert("a;"), "  new;\n  a;\n  b; c;\nL: d;\n");
  EXPECT_EQ(insert("c;"), "  a;\n  b;  new; c;\nL: d;\n");
  EXPECT_EQ(insert("d;"), "  a;\n  b; c;\nL:  new; d;\n");
  size_t end = text.find("c;") + 2;
  EXPECT_EQ(applyEdits(text, {{end, end, "new;"}}), "  a;\n  b; c;\n  new;\nL: d;\n");
}

} // namespace
} // namespace penstock::emu
