//===- DistributionTest.cpp - Tiles over the registers of threads ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Distribution.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>

using namespace penstock::layout;

namespace {

/// How many registers hold each element, and whether others lie outside.
std::map<std::vector<int64_t>, int64_t> holders(const Distribution &d) {
  std::map<std::vector<int64_t>, int64_t> count;
  for (int64_t thread = 0; thread < d.threads(); ++thread)
    for (int64_t reg = 0; reg < d.registers(); ++reg) {
      std::vector<int64_t> at = d.baseOf(thread), offset = d.offsetOf(reg);
      bool inside = true;
      for (size_t dim = 0; dim < at.size(); ++dim) {
        at[dim] += offset[dim];
        inside &= at[dim] < d.shape[dim];
      }
      EXPECT_TRUE(inside || !d.isFull()) << toString(d);
      if (inside)
        ++count[at];
    }
  return count;
}

int64_t elementsOf(const std::vector<int64_t> &shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

const std::vector<std::vector<int64_t>> shapes = {{1},      {7},       {32},     {1000},
                                                  {1, 128}, {4, 1024}, {24, 40}, {64, 64},
                                                  {128, 8}, {192, 96}, {3, 5, 8}};

TEST(Distribution, BlockedHoldsEachElementOnce) {
  for (const auto &shape : shapes)
    for (int64_t threads : {1, 32, 96, 128, 512})
      for (int64_t vector : {1, 2, 4, 8}) {
        if (shape.back() % vector)
          continue;
        Distribution d = blocked(shape, threads, vector);
        EXPECT_GE(d.threads(), threads) << toString(d);
        auto count = holders(d);
        EXPECT_EQ(int64_t(count.size()), elementsOf(shape)) << toString(d);
        for (const auto &[at, times] : count)
          ASSERT_EQ(times, 1) << toString(d);
      }
}

TEST(Distribution, RunsAreNeighbors) {
  for (const auto &shape : shapes)
    for (int64_t vector : {1, 2, 4, 8}) {
      if (shape.back() % vector)
        continue;
      Distribution d = blocked(shape, 128, vector);
      int64_t run = d.run();
      for (int64_t thread = 0; thread < d.threads(); ++thread)
        for (int64_t reg = 0; reg < d.registers(); ++reg) {
          auto base = d.baseOf(thread), first = d.offsetOf(reg / run * run), own = d.offsetOf(reg);
          EXPECT_EQ((base.back() + first.back()) % run, 0);
          first.back() += reg % run;
          ASSERT_EQ(own, first) << toString(d);
        }
    }
}

/// The figure of the instruction: lane l holds rows l / 4 and l / 4 + 8, columns
/// l % 4 * 2 and the next one.
TEST(Distribution, AccumulatorOfMmaSync) {
  Distribution d = mmaAccumulator(16, 8, 1, 1);
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t reg = 0; reg < 4; ++reg) {
      auto at = d.baseOf(lane), offset = d.offsetOf(reg);
      EXPECT_EQ(at[0] + offset[0], lane / 4 + (reg / 2) * 8);
      EXPECT_EQ(at[1] + offset[1], lane % 4 * 2 + reg % 2);
    }
  for (auto [rows, cols, warps, along] :
       {std::array<int64_t, 4>{64, 64, 4, 4}, {32, 48, 4, 2}, {16, 8, 4, 1}, {128, 256, 8, 8}}) {
    auto count = holders(mmaAccumulator(rows, cols, warps, along));
    EXPECT_EQ(int64_t(count.size()), rows * cols);
    EXPECT_TRUE(std::ranges::all_of(count, [](const auto &c) { return c.second == 1; }));
  }
}

/// A thread holds an element of the slice if it holds one of the tile with it.
TEST(Distribution, SlicesGoWithTheirTiles) {
  for (const Distribution &d :
       {blocked({24, 40}, 128, 4), blocked({4, 1024}, 128, 4), mmaAccumulator(64, 64, 4, 4),
        mmaAccumulator(32, 48, 4, 2), blocked({3, 5, 8}, 32, 2)})
    for (unsigned dim = 0; dim < d.rank(); ++dim) {
      Distribution s = d.slice(dim);
      for (int64_t thread = 0; thread < d.threads(); ++thread)
        for (int64_t reg = 0; reg < d.registers(); ++reg) {
          auto at = d.baseOf(thread), offset = d.offsetOf(reg);
          auto sliced = s.baseOf(thread), own = s.offsetOf(d.sliceRegister(dim, reg));
          at.erase(at.begin() + dim);
          offset.erase(offset.begin() + dim);
          ASSERT_EQ(at, sliced) << toString(d);
          ASSERT_EQ(offset, own) << toString(d);
        }
    }
}

TEST(Distribution, SlicesOfTilesWithTheSameRowsAreEqual) {
  EXPECT_EQ(mmaAccumulator(64, 64, 4, 4).slice(1), mmaAccumulator(64, 128, 4, 4).slice(1));
  EXPECT_FALSE(mmaAccumulator(64, 64, 4, 4).slice(1) == blocked({64, 64}, 128, 4).slice(1));
}

/// A part holds exactly the elements of the whole that lie in it, in the registers that it names.
TEST(Distribution, PartsHoldWhatLiesInThem) {
  int64_t possible = 0, tried = 0;
  for (const Distribution &d :
       {blocked({24, 40}, 128, 4), blocked({16, 64}, 32, 4), mmaAccumulator(64, 64, 4, 4),
        distributionOf(wgmmaAccumulator(256, 64, 2)), tensorMemoryAccumulator(128, 48, 1),
        blocked({4, 4, 32}, 32, 2)})
    for (unsigned dim = 0; dim < d.rank(); ++dim)
      for (int64_t first = 0; first < d.shape[dim]; first += 4)
        for (int64_t size = 4; first + size <= d.shape[dim]; size += 4) {
          ++tried;
          auto part = d.part(dim, first, size);
          if (!part)
            continue;
          ++possible;
          ASSERT_EQ(int64_t(part->registers.size()), part->layout.registers());
          int64_t inside = 0;
          for (int64_t reg = 0; reg < part->layout.registers(); ++reg)
            for (int64_t thread = 0; thread < d.threads(); ++thread) {
              auto at = part->layout.baseOf(thread), offset = part->layout.offsetOf(reg);
              auto of = d.baseOf(thread), by = d.offsetOf(part->registers[size_t(reg)]);
              for (size_t i = 0; i < d.rank(); ++i)
                ASSERT_EQ(at[i] + offset[i] + (i == dim ? first : 0), of[i] + by[i])
                    << toString(d) << " from " << first << ", " << size;
              inside += at[dim] + offset[dim] < size;
            }
          int64_t held = 0; // registers of the whole whose element lies in the part
          for (int64_t reg = 0; reg < d.registers(); ++reg)
            for (int64_t thread = 0; thread < d.threads(); ++thread) {
              int64_t at = d.baseOf(thread)[dim] + d.offsetOf(reg)[dim];
              held += at >= first && at < first + size;
            }
          EXPECT_EQ(inside, held) << toString(d) << " from " << first << ", " << size;
        }
  EXPECT_GT(possible, 100);
  EXPECT_LT(possible, tried);
}

TEST(Distribution, RemaindersOfThreads) {
  for (const Distribution &d :
       {blocked({24, 40}, 128, 1), mmaAccumulator(32, 48, 4, 2), mmaAccumulator(64, 64, 4, 4)})
    for (int64_t piece : {4, 8, 16}) {
      int64_t largest = 0;
      for (int64_t thread = 0; thread < d.threads(); ++thread)
        largest = std::max(largest, d.baseOf(thread)[1] % piece);
      EXPECT_GE(d.largestRemainder(1, piece), largest) << toString(d);
      EXPECT_LT(d.largestRemainder(1, piece), piece);
    }
  // Lanes end at column 6, so that eight columns are never left.
  EXPECT_EQ(mmaAccumulator(64, 64, 4, 4).largestRemainder(1, 8), 6);
}

TEST(Distribution, TextIsReadBack) {
  for (const Distribution &d :
       {blocked({1000}, 128, 4), mmaAccumulator(64, 64, 4, 4),
        mmaAccumulator(64, 64, 4, 4).slice(0), distributionOf(wgmmaAccumulator(128, 64, 2)),
        distributionOf(tensorMemoryRows(128, 32))})
    EXPECT_EQ(parseDistribution(toString(d)), d) << toString(d);
  EXPECT_EQ(toString(blocked({8, 64}, 128, 4)), "8x64 threads [16:1*4 8:0*1] registers [4:1*1]");
  for (const char *wrong : {"", "8", "8x threads [] registers []", "8 threads [0:0*1] registers []",
                            "8 threads [8:1*1] registers []", "8 threads [8:0*1 registers []",
                            "8 threads [8:0*1] registers [] ", "8 threads [99999:0*1] registers []",
                            "8 threads [8:0*-1] registers []", "8 threads [2:0*1]  registers []"})
    EXPECT_FALSE(parseDistribution(wrong)) << wrong;
}

/// tcgen05.ld gives a thread its row; warpgroups share the columns.
TEST(Distribution, RowsOfTensorMemory) {
  EXPECT_EQ(tensorMemoryAccumulator(128, 64, 1), distributionOf(tensorMemoryRows(128, 64)));
  Distribution two = tensorMemoryAccumulator(128, 64, 2);
  EXPECT_EQ(two.threads(), 256);
  EXPECT_EQ(two.registers(), 32);
  EXPECT_EQ(two.baseOf(128 + 5), (std::vector<int64_t>{5, 32}));
  EXPECT_EQ(two.offsetOf(3), (std::vector<int64_t>{0, 3}));
}

/// Of 64 rows, tcgen05.ld.16x256b gives a warp the 16 in the lower half of its lanes.
TEST(Distribution, FewRowsOfTensorMemory) {
  Distribution two = tensorMemoryAccumulator(64, 48, 2);
  ASSERT_EQ(two.threads(), 256);
  ASSERT_EQ(two.registers(), 12);
  for (int64_t thread = 0; thread < 256; ++thread)
    for (int64_t reg = 0; reg < 12; ++reg) {
      std::vector<int64_t> base = two.baseOf(thread), offset = two.offsetOf(reg);
      int64_t lane = thread % 32, warp = thread / 32 % 4, group = thread / 128;
      EXPECT_EQ(base[0] + offset[0], 16 * warp + lane / 4 + 8 * (reg / 2 % 2));
      EXPECT_EQ(base[1] + offset[1], 24 * group + 8 * (reg / 4) + 2 * (lane % 4) + reg % 2);
    }
}

/// Fragments of instructions keep the numbers of their registers.
TEST(Distribution, FragmentsAreDistributions) {
  for (const Fragment &f : {wgmmaAccumulator(64, 64), wgmmaAccumulator(128, 32, 1),
                            wgmmaOperandA(64, 16), tensorMemoryRows(128, 64)}) {
    Distribution d = distributionOf(f);
    ASSERT_EQ(d.registers(), f.registers);
    for (int64_t thread = 0; thread < f.threads; ++thread)
      for (int64_t reg = 0; reg < f.registers; ++reg) {
        Coordinate at = f.at(thread, reg);
        auto base = d.baseOf(thread), offset = d.offsetOf(reg);
        ASSERT_EQ(base[0] + offset[0], at.row);
        ASSERT_EQ(base[1] + offset[1], at.col);
      }
  }
}

} // namespace
