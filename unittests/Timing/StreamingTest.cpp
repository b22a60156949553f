//===- StreamingTest.cpp - Memory-bound kernels ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Streaming.h"
#include "Table.h"
#include "gtest/gtest.h"

using namespace penstock;
using namespace penstock::timing;

namespace {

TEST(Streaming, BandwidthByBytesInFlight) {
  Table table("streaming.csv");
  ASSERT_EQ(table.size(), 24u);
  const hw::Chip &chip = *hw::findChip("B200");
  Pairs all, many;
  for (size_t r = 0; r < table.size(); ++r) {
    Streaming s;
    s.totalBytes = 8e9; // launch and fill do not count
    s.rows = table.integer(r, "rows");
    s.rowBytes = table.integer(r, "rowBytes");
    s.stages = table.integer(r, "stages");
    s.blocksPerSm = table.integer(r, "blocksPerSm");
    Prediction p = predict(streaming(s, chip), chip);
    double rate = p.hbmBytes / p.seconds;
    all.add(rate, table.number(r, "measured"));
    if (table.integer(r, "inFlight") >= 16384)
      many.add(rate, table.number(r, "measured"));
  }
  // With few bytes in flight the latency decides, which is that of a loaded memory system:
  // a stream of small loads is faster by a quarter.
  EXPECT_LE(meanError(all), 0.16);
  EXPECT_GE(rankCorrelation(all), 0.97);
  EXPECT_EQ(many.size(), 12u);
  EXPECT_LE(meanError(many), 0.05) << "from 16 KB in flight";
  expectDocumented("| loads that stream from HBM of a B200 | 24 | " + percent(meanError(all)) +
                   "; " + percent(meanError(many)) + " from 16 KB in flight | 16, 5 % |");
}

} // namespace
