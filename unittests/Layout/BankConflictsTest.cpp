//===- BankConflictsTest.cpp - Accesses that wait for each other ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/BankConflicts.h"
#include "gtest/gtest.h"

using namespace penstock::layout;

static std::vector<int64_t> every(int64_t stride) {
  std::vector<int64_t> addresses;
  for (int64_t lane = 0; lane < 32; ++lane)
    addresses.push_back(lane * stride);
  return addresses;
}

TEST(BankConflicts, NeighborsMeetNobody) {
  EXPECT_EQ(wavefrontsOf(every(4), 4), (Wavefronts{1, 1}));
  // 512 bytes are four times what the banks serve at once.
  EXPECT_EQ(wavefrontsOf(every(16), 16), (Wavefronts{4, 4}));
  EXPECT_EQ(wavefrontsOf(every(8), 8), (Wavefronts{2, 2}));
  // Two lanes share a word.
  EXPECT_EQ(wavefrontsOf(every(2), 2), (Wavefronts{1, 1}));
}

TEST(BankConflicts, StridesMeet) {
  EXPECT_EQ(wavefrontsOf(every(8), 4), (Wavefronts{2, 1}));
  // All lanes in one bank.
  EXPECT_EQ(wavefrontsOf(every(128), 4), (Wavefronts{32, 1}));
  // One word more than a row: all banks are used again.
  EXPECT_EQ(wavefrontsOf(every(132), 4), (Wavefronts{1, 1}));
  // 8 lanes at a time, all in the same four banks.
  EXPECT_EQ(wavefrontsOf(every(128), 16), (Wavefronts{32, 4}));
}

TEST(BankConflicts, OneWordIsServedToAll) {
  EXPECT_EQ(wavefrontsOf(every(0), 4), (Wavefronts{1, 1}));
  std::vector<int64_t> none(32, -1);
  EXPECT_EQ(wavefrontsOf(none, 4), (Wavefronts{0, 0}));
}

TEST(BankConflicts, ASwizzledTileIsReadByColumns) {
  // Each thread holds 16 bytes of a row of its own: without the swizzle, 8 lanes meet in four
  // banks.
  Distribution rows{{32, 64}, {{32, 0, 1}}, {{64, 1, 1}}};
  SharedTile swizzled = *sharedTileFor(32, 64, 16), plain = swizzled;
  plain.swizzle = Swizzle::None;
  plain.linear = true;
  auto accesses = [&](const SharedTile &tile) {
    return accessesOf(rows, 2, [&](int64_t row, int64_t col) { return tile.byteOffset(row, col); });
  };
  TileAccesses good = accesses(swizzled), bad = accesses(plain);
  EXPECT_EQ(good.bytes, 16);
  EXPECT_EQ(good.wavefronts, (Wavefronts{8 * 4, 8 * 4}));
  EXPECT_EQ(bad.bytes, 16);
  EXPECT_EQ(bad.wavefronts, (Wavefronts{8 * 32, 8 * 4}));
}

/// ldmatrix.x4 reads four times 8 rows of 16 bytes: 512 bytes, as much as the banks serve in 4
/// wavefronts. Rows and pieces as mma.sync needs them never share a bank, in any swizzle.
TEST(BankConflicts, MatricesOfOperandsHaveNone) {
  for (int64_t cols : {8, 16, 32, 64, 128, 24, 40}) {
    SharedTile tile = *sharedTileFor(64, cols, 16);
    for (int64_t row = 0; row + 16 <= 64; row += 16)
      for (int64_t col = 0; col + 16 <= cols; col += 16) {
        std::vector<int64_t> along, across;
        for (int64_t lane = 0; lane < 32; ++lane) {
          int64_t inMatrix = lane % 8, inner = lane / 8 % 2 * 8, outer = lane / 16 * 8;
          along.push_back(tile.byteOffset(row + outer + inMatrix, col + inner));
          across.push_back(tile.byteOffset(row + inner + inMatrix, col + outer));
        }
        EXPECT_EQ(wavefrontsOf(along, 16), (Wavefronts{4, 4})) << cols;
        EXPECT_EQ(wavefrontsOf(across, 16), (Wavefronts{4, 4})) << cols;
      }
  }
}
