//===- MutateTest.cpp - Whether broken synchronization is noticed ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CopyKernel.h"
#include "Testing/Mutation/EquivalenceEvidence.h"
#include "penstock/check.h"

#include <gtest/gtest.h>

using namespace penstock;

namespace copying {

struct CopyToBreak : Copy {};
PENSTOCK_KERNEL(CopyToBreak, wait, useless_sync, rare_sync);
PENSTOCK_REFERENCE(CopyToBreak, copyOnHost);

} // namespace copying

namespace {

MutateOptions quick() {
  MutateOptions options;
  options.shapes = {{{"M", 32}, {"N", 32}}};
  return options;
}

TEST(Mutate, EveryChangeOfANecessaryInstructionIsKilled) {
  MutateReport report = mutate_registered("CopyToBreak", Target::sm_90a(), quick());
  EXPECT_TRUE(report.all_accounted_for()) << to_text(report);
  size_t waits = 0;
  for (const Mutant &mutant : report.mutants) {
    if (mutant.instruction.find("try_wait") == std::string::npos)
      continue;
    ++waits;
    EXPECT_EQ(mutant.fate, Mutant::Killed) << mutant.change;
    EXPECT_TRUE(mutant.source.file.ends_with("CopyKernel.h"));
  }
  EXPECT_EQ(waits, 3u); // removed, another phase, relaxed
}

TEST(Mutate, ABarrierThatOrdersNothingSurvives) {
  MutateOptions options = quick();
  options.set = {{"useless_sync", "true"}};
  MutateReport report = mutate_registered("CopyToBreak", Target::sm_90a(), options);
  EXPECT_FALSE(report.all_accounted_for());
  ASSERT_EQ(report.count(Mutant::Survived), 1u) << to_text(report);
  for (const Mutant &mutant : report.mutants)
    if (mutant.fate == Mutant::Survived) {
      EXPECT_TRUE(mutant.instruction.starts_with("bar.sync")) << mutant.instruction;
      EXPECT_NE(to_text(report).find("PS2202"), std::string::npos);
    }
}

TEST(Mutate, WhatNoRunReachesIsCountedApart) {
  MutateReport without = mutate_registered("CopyToBreak", Target::sm_90a(), quick());
  EXPECT_EQ(without.count(Mutant::Unreached), 0u);
  MutateOptions options = quick();
  options.set = {{"rare_sync", "true"}};
  MutateReport report = mutate_registered("CopyToBreak", Target::sm_90a(), options);
  EXPECT_TRUE(report.all_accounted_for()) << to_text(report);
  EXPECT_EQ(report.count(Mutant::Unreached), 1u) << to_text(report);
  EXPECT_EQ(report.tried(), without.tried());
  EXPECT_NE(to_text(report).find("  unreached: "), std::string::npos);
  EXPECT_NE(summary_of(report).find(" unreached=1"), std::string::npos);
}

TEST(Mutate, HarmlessChangesAreNotTried) {
  MutateReport report = mutate_registered("CopyToBreak", Target::sm_90a(), quick());
  ASSERT_EQ(report.count(Mutant::Equivalent), 1u) << to_text(report);
  EXPECT_EQ(report.tried() + 1, report.mutants.size());
  for (const Mutant &mutant : report.mutants)
    if (mutant.fate == Mutant::Equivalent) {
      EXPECT_EQ(mutant.instruction, "fence.mbarrier_init.release.cluster;");
    }
}

TEST(Mutate, AKernelThatIsNotSoundIsNotMutated) {
  MutateOptions options = quick();
  options.set = {{"wait", "false"}};
  MutateReport report = mutate_registered("CopyToBreak", Target::sm_90a(), options);
  EXPECT_TRUE(report.mutants.empty());
  ASSERT_EQ(report.diagnostics.size(), 1u);
  EXPECT_EQ(report.diagnostics[0].code, 2201u);
}

TEST(BarrierEvidence, ArrivalsThatNoWaitSees) {
  BarrierEvidence evidence;
  auto tell = evidence.listener(0);
  using Event = emu::BarrierEvent;
  tell({Event::Arrive, 1, 0, 10});
  tell({Event::Observe, 1, 0, 99});
  tell({Event::Arrive, 1, 1, 11});
  tell({Event::Arrive, 2, 0, 12});
  EXPECT_FALSE(evidence.isNeverAwaited(10));
  EXPECT_TRUE(evidence.isNeverAwaited(11));
  EXPECT_TRUE(evidence.isNeverAwaited(12));
  EXPECT_FALSE(evidence.isNeverAwaited(13)); // never arrives
  // Another run waits for what this one does not.
  auto second = evidence.listener(1);
  second({Event::Arrive, 2, 0, 12});
  second({Event::Observe, 2, 0, 99});
  EXPECT_FALSE(evidence.isNeverAwaited(12));
}

} // namespace
