//===- ChipTest.cpp - Constants of chips and their sources ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Hardware/Chip.h"
#include "gtest/gtest.h"

using namespace penstock::hw;

namespace {

TEST(Chip, EveryConstantHasASourceAndARange) {
  for (const Chip &chip : chips())
    for (const ChipConstant &constant : chipConstants()) {
      const Measured &m = chip.*constant.member;
      EXPECT_FALSE(m.source.empty()) << chip.name << ": " << constant.name;
      EXPECT_LE(m.low, m.value) << chip.name << ": " << constant.name;
      EXPECT_GE(m.high, m.value) << chip.name << ": " << constant.name;
      if (m.by == Measured::By::Assumed || m.by == Measured::By::Simulator)
        EXPECT_LT(m.low, m.high) << chip.name << ": " << constant.name
                                 << " is not measured, so it has a range";
    }
  // The list is complete: a Chip has nothing else of type Measured.
  EXPECT_EQ(chipConstants().size(), 33u);
}

TEST(Chip, Names) {
  EXPECT_EQ(findChip("H100"), findChip("sm_90a"));
  EXPECT_EQ(findChip("B200"), findChip("sm_100a"));
  EXPECT_EQ(findChip("A100"), nullptr);
  EXPECT_EQ(findChip("H100")->architecture->limits.multiprocessors, 132);
}

// Published peaks: 989 TFLOPS at 1.83 GHz, 2250 at 1.856.
TEST(Chip, PeakOfTensorCores) {
  auto peak = [](const char *name, double ghz) {
    const Architecture &a = *findChip(name)->architecture;
    double busy = a.products(128, 256, 64, 2).busy;
    return 2.0 * 128 * 256 * 64 / busy * double(a.limits.multiprocessors) * ghz * 1e-3;
  };
  EXPECT_NEAR(peak("H100", 1.83), 989, 2);
  EXPECT_NEAR(peak("B200", 1.856), 2250, 5);
}

// A pair multiplies twice the rows in the time of one block, from half of the columns each.
TEST(Chip, PairsOfBlocks) {
  const Architecture &b = *findArchitecture("sm_100a");
  EXPECT_EQ(b.products(128, 256, 16, 2, 2).busy, 128);
  EXPECT_EQ(b.products(64, 256, 16, 2, 2).busy, 64);
  // (128 + 64) * 32 bytes at 128 per cycle are not the bound any more: (128 + 32) * 32.
  EXPECT_EQ(b.products(128, 64, 16, 2, 1).busy, 48);
  EXPECT_EQ(b.products(128, 64, 16, 2, 2).busy, 40);
}

} // namespace
