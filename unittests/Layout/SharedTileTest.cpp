//===- SharedTileTest.cpp - Bytes of tiles in shared memory ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/SharedTile.h"
#include "gtest/gtest.h"

#include <set>

using namespace penstock::layout;

namespace {

TEST(Swizzle, ExclusiveOrOfRowIntoPiece) {
  // Bits 4, 5, 6 of the address get bits 7, 8, 9 added without carry: of them as
  // many as the span has pieces.
  struct {
    Swizzle swizzle;
    unsigned bits;
  } cases[] = {{Swizzle::None, 0}, {Swizzle::B32, 1}, {Swizzle::B64, 2}, {Swizzle::B128, 3}};
  for (auto [swizzle, bits] : cases)
    for (uint64_t address = 0; address < 4096; ++address) {
      uint64_t expected = address;
      for (unsigned bit = 0; bit < bits; ++bit)
        if (address >> (7 + bit) & 1)
          expected ^= uint64_t(16) << bit;
      ASSERT_EQ(swizzled(swizzle, address), expected) << address;
      ASSERT_EQ(swizzled(swizzle, expected), address);
    }
}

TEST(Swizzle, CodesOfThreeNumberings) {
  Swizzle all[] = {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128};
  unsigned map[] = {0, 1, 2, 3}, hopper[] = {0, 3, 2, 1}, blackwell[] = {0, 6, 4, 2};
  int64_t span[] = {16, 32, 64, 128}, repeat[] = {128, 256, 512, 1024};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(tensorMapCode(all[i]), map[i]);
    EXPECT_EQ(wgmmaCode(all[i]), hopper[i]);
    EXPECT_EQ(tcgen05Code(all[i]), blackwell[i]);
    EXPECT_EQ(spanBytes(all[i]), span[i]);
    EXPECT_EQ(repeatBytes(all[i]), repeat[i]);
  }
}

TEST(SharedTile, WidestSwizzleThatDivides) {
  auto chosen = [](int64_t cols, int bits) { return sharedTileFor(64, cols, bits)->swizzle; };
  EXPECT_EQ(chosen(64, 16), Swizzle::B128);
  EXPECT_EQ(chosen(128, 16), Swizzle::B128);
  EXPECT_EQ(chosen(96, 16), Swizzle::B64);
  EXPECT_EQ(chosen(32, 16), Swizzle::B64);
  EXPECT_EQ(chosen(16, 16), Swizzle::B32);
  EXPECT_EQ(chosen(8, 16), Swizzle::None);
  EXPECT_EQ(chosen(24, 16), Swizzle::None);
  EXPECT_EQ(chosen(32, 32), Swizzle::B128);
  EXPECT_EQ(chosen(128, 8), Swizzle::B128);
  EXPECT_EQ(chosen(256, 4), Swizzle::B128);
  EXPECT_FALSE(sharedTileFor(64, 4, 16));
  EXPECT_FALSE(sharedTileFor(64, 20, 16));
  EXPECT_FALSE(sharedTileFor(0, 64, 16));
  EXPECT_FALSE(sharedTileFor(64, 0, 16));
  EXPECT_FALSE(sharedTileFor(64, 64, 0));
  EXPECT_FALSE(sharedTileFor(64, 64, 96));
  EXPECT_FALSE(sharedTileFor(64, 64, 128));
  EXPECT_FALSE(sharedTileFor(64, -64, 16));
}

TEST(SharedTile, SizesAndAlignment) {
  SharedTile tile = *sharedTileFor(128, 128, 16);
  EXPECT_EQ(tile.bytes(), 32768);
  EXPECT_EQ(tile.alignment(), 1024);
  EXPECT_EQ(tile.chunkCols(), 64);
  EXPECT_EQ(tile.chunks(), 2);
  EXPECT_EQ(tile.chunkBytes(), 16384);
  tile.swizzle = Swizzle::B64;
  EXPECT_EQ(tile.alignment(), 512);
  EXPECT_EQ(tile.chunks(), 4);
  tile.swizzle = Swizzle::B32;
  EXPECT_EQ(tile.alignment(), 256);
  tile.swizzle = Swizzle::None;
  EXPECT_EQ(tile.alignment(), 128);
  EXPECT_EQ(tile.chunkCols(), 8);
  tile.linear = true;
  EXPECT_EQ(tile.alignment(), 16);
  EXPECT_EQ(tile.chunks(), 1);
  EXPECT_EQ(tile.byteOffset(3, 5), (3 * 128 + 5) * 2);
}

/// A copy by TMA, box by box: elements in order, each put where the swizzle says.
TEST(SharedTile, IsWhatBoxesWrite) {
  for (int bits : {8, 16, 32})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
      for (int64_t rows : {8, 24, 64}) {
        int64_t width = spanBytes(swizzle) * 8 / bits, bytes = bits / 8;
        SharedTile tile{rows, 3 * width, bits, swizzle, false};
        std::set<int64_t> seen;
        uint64_t next = 0;
        for (int64_t box = 0; box < 3; ++box)
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t col = 0; col < width; ++col) {
              ASSERT_EQ(tile.linearByte(row, box * width + col), int64_t(next));
              int64_t offset = tile.byteOffset(row, box * width + col);
              ASSERT_EQ(offset, int64_t(swizzled(swizzle, next)));
              ASSERT_TRUE(seen.insert(offset).second);
              ASSERT_LT(offset, tile.bytes());
              next += bytes;
            }
        EXPECT_EQ(int64_t(next), tile.bytes());
      }
}

TEST(SharedTile, ColumnOfEightRowsTouchesAllBanks) {
  SharedTile tile = *sharedTileFor(8, 64, 16);
  for (int64_t col = 0; col < 64; col += 8) {
    std::set<int64_t> banks;
    for (int64_t row = 0; row < 8; ++row)
      for (int64_t word = 0; word < 4; ++word)
        banks.insert((tile.byteOffset(row, col) / 4 + word) % 32);
    EXPECT_EQ(banks.size(), 32u);
  }
}

} // namespace
