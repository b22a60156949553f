//===- MatrixStoreTest.cpp - Layout of stmatrix ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/MatrixStore.h"
#include "gtest/gtest.h"

#include <map>

using namespace penstock::layout;

namespace {

using Element = std::vector<int64_t>;

Element sum(Element a, const Element &b) {
  for (size_t dim = 0; dim < a.size(); ++dim)
    a[dim] += b[dim];
  return a;
}

/// Stores by the definition of stmatrix: the row `r` of matrix `j` goes to the address of lane
/// 8 j + r, and holds the registers `j` of the lanes 4 r to 4 r + 3, two elements each. Returns how
/// often each element was stored, and expects it at its place.
std::map<Element, int> store(const Distribution &from, const Distribution &pieces) {
  std::map<Element, int> stored;
  int64_t blocks = blocksOfColumns(from);
  for (int64_t warp = 0; warp < from.threads() / 32; ++warp)
    for (int64_t reg = 0; reg < from.registers(); reg += 4) {
      int64_t block = reg / 4 % blocks;
      if (block % 2)
        continue; // stored with the block before
      int64_t matrices = block + 1 < blocks ? 4 : 2;
      for (int64_t j = 0; j < matrices; ++j)
        for (int64_t row = 0; row < 8; ++row) {
          Element address = sum(pieces.baseOf(warp * 32 + 8 * j + row), from.offsetOf(reg));
          for (int64_t col = 0; col < 8; ++col) {
            int64_t lane = warp * 32 + 4 * row + col / 2;
            Element held = sum(from.baseOf(lane), from.offsetOf(reg + 2 * j + col % 2));
            Element at = sum(address, {0, col});
            EXPECT_EQ(held, at) << toString(from);
            ++stored[at];
          }
        }
    }
  return stored;
}

const SharedTile rows16Bits = *sharedTileFor(64, 64, 16);

TEST(MatrixStore, StoresEachElementOnce) {
  std::vector<Distribution> layouts = {distributionOf(wgmmaAccumulator(64, 8)),
                                       distributionOf(wgmmaAccumulator(64, 24)),
                                       distributionOf(wgmmaAccumulator(128, 64, 1)),
                                       distributionOf(wgmmaAccumulator(128, 256, 2)),
                                       mmaAccumulator(64, 64, 4, 2),
                                       mmaAccumulator(32, 40, 1, 1),
                                       mmaAccumulator(128, 128, 8, 4),
                                       tensorMemoryAccumulator(64, 64, 1),
                                       tensorMemoryAccumulator(64, 128, 2)};
  for (const Distribution &from : layouts) {
    auto pieces = matrixStorePieces(from, rows16Bits);
    ASSERT_TRUE(pieces) << toString(from);
    std::map<Element, int> stored = store(from, *pieces);
    EXPECT_EQ(int64_t(stored.size()), from.shape[0] * from.shape[1]) << toString(from);
    for (const auto &[at, times] : stored)
      ASSERT_EQ(times, 1) << toString(from);
  }
}

TEST(MatrixStore, RejectsOtherLayouts) {
  Distribution from = mmaAccumulator(64, 64, 4, 4);
  ASSERT_TRUE(matrixStorePieces(from, rows16Bits));
  EXPECT_FALSE(matrixStorePieces(from, *sharedTileFor(64, 64, 32)));
  SharedTile unaligned = rows16Bits; // rows do not begin at multiples of 16 bytes
  unaligned.linear = true;
  unaligned.cols = 60;
  EXPECT_FALSE(matrixStorePieces(from, unaligned));
  EXPECT_FALSE(matrixStorePieces(blocked({64, 64}, 128, 8), rows16Bits));
  EXPECT_FALSE(matrixStorePieces(tensorMemoryAccumulator(128, 64, 1), rows16Bits));
  EXPECT_FALSE(matrixStorePieces(from.slice(1), rows16Bits));
  // Some warps have columns beyond the tile.
  EXPECT_FALSE(matrixStorePieces(mmaAccumulator(64, 24, 4, 2), rows16Bits));
}

} // namespace
