//===- AttentionTest.cpp - Published attention kernels --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Attention.h"
#include "Table.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace penstock;
using namespace penstock::timing;

namespace {

Attention attentionOf(const Table &table, size_t r) {
  Attention a;
  a.batch = table.integer(r, "batch");
  a.heads = table.integer(r, "heads");
  a.sequence = table.integer(r, "sequence");
  a.dim = table.integer(r, "dim");
  a.causal = table.integer(r, "causal");
  if (table.text(r, "kernel") == "FA3") {
    a.tileM = a.dim == 64 ? 192 : 128;
    a.tileN = a.dim == 64 || (a.dim == 128 && a.causal) ? 128 : a.dim == 128 ? 176 : 80;
  } else {
    a.form = Attention::Form::InOrder;
    a.tileM = a.dim == 256 ? 64 : 128; // two blocks per SM
    a.tileN = a.dim == 64 ? 128 : 64;
  }
  return a;
}

TEST(Attention, PublishedRows) {
  Table table("attention.csv");
  ASSERT_EQ(table.size(), 60u);
  const hw::Chip &chip = *hw::findChip("H100");
  Pairs all;
  std::map<std::string, Pairs> families;
  std::string picture = "chip,set,ladder,row,predicted,published\n";
  for (size_t r = 0; r < table.size(); ++r) {
    Prediction p = predict(attention(attentionOf(table, r), chip), chip);
    all.add(p.tflops, table.number(r, "measured"));
    families[table.text(r, "kernel")].add(p.tflops, table.number(r, "measured"));
    picture += "H100,attention," + table.text(r, "kernel") + "," + std::to_string(r) + "," +
               std::to_string(std::lround(p.tflops)) + "," + table.text(r, "measured") + "\n";
  }
  expectStored("predicted-attention.csv", picture);
  EXPECT_GE(rankCorrelation(all), 0.94);
  EXPECT_LE(leaveOneOut(all), 0.08) << "with one factor for all rows";
  EXPECT_LE(meanError(all), 0.13) << "absolute";
  expectDocumented("| FlashAttention 2 and 3 on H100 | 60 | rank correlation " +
                   twoDigits(rankCorrelation(all)) + ", " + percent(leaveOneOut(all)) +
                   " with one factor, " + percent(meanError(all)) + " absolute | 0.94, 8, 13 % |");
  EXPECT_GE(rankCorrelation(families.at("FA3")), 0.9);
  // FA2's rows differ by few percent from each other: 300 to 370 for all long sequences.
  EXPECT_GE(rankCorrelation(families.at("FA2")), 0.75);
  for (const auto &[name, pairs] : families)
    EXPECT_LE(leaveOneOut(pairs), 0.085) << name;
}

// What the overlap of two warpgroups hides, and what a mask saves.
TEST(Attention, Laws) {
  const hw::Chip &chip = *hw::findChip("H100");
  Attention a;
  double dense = predict(attention(a, chip), chip).seconds;
  Attention masked = a;
  masked.causal = true;
  double causal = predict(attention(masked, chip), chip).seconds;
  EXPECT_LT(causal, 0.75 * dense);
  EXPECT_GT(causal, 0.5 * dense);
  hw::Chip faster = chip;
  faster.exponentials.value *= 2;
  EXPECT_LE(predict(attention(a, faster), faster).seconds, dense);
  Attention deeper = a;
  deeper.stages = 3;
  EXPECT_LE(predict(attention(deeper, chip), chip).seconds, 1.002 * dense);
  Attention twice = a;
  twice.batch = 8;
  EXPECT_NEAR(predict(attention(twice, chip), chip).seconds / dense, 8, 0.8);
}

} // namespace
