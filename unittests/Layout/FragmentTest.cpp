//===- FragmentTest.cpp - Which element each register holds ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Fragment.h"
#include "gtest/gtest.h"

using namespace penstock::layout;

namespace {

/// Each element is held exactly once, and what is said of bases and offsets holds.
void expectCover(const Fragment &f) {
  std::vector<int> held(size_t(f.rows * f.cols));
  bool full = true;
  for (int64_t t = 0; t < f.threads; ++t)
    for (int64_t r = 0; r < f.registers; ++r) {
      Coordinate c = f.at(t, r), base = f.baseOf(t), offset = f.offsetOf(r);
      ASSERT_EQ(c.row, base.row + offset.row);
      ASSERT_EQ(c.col, base.col + offset.col);
      ASSERT_EQ(base, f.at(t, 0));
      if (f.contains(c))
        ++held[size_t(c.row * f.cols + c.col)];
      else
        full = false;
    }
  for (int count : held)
    ASSERT_EQ(count, 1);
  EXPECT_EQ(full, f.isFull());
}

TEST(Fragment, WgmmaAccumulator) {
  for (int64_t n : {8, 32, 256}) {
    Fragment f = wgmmaAccumulator(64, n);
    ASSERT_EQ(f.threads, 128);
    ASSERT_EQ(f.registers, n / 2);
    for (int64_t t = 0; t < 128; ++t)
      for (int64_t d = 0; d < n / 2; ++d) {
        int64_t row = (t / 4) % 8 + 16 * (t / 32) + 8 * ((d / 2) % 2);
        int64_t col = 2 * (t % 4) + d % 2 + 8 * (d / 4);
        ASSERT_EQ(f.at(t, d), (Coordinate{row, col}));
      }
    expectCover(f);
  }
}

TEST(Fragment, WgmmaAccumulatorOfSeveralWarpgroups) {
  Fragment two = wgmmaAccumulator(128, 48);
  EXPECT_EQ(two.threads, 256);
  expectCover(two);
  Fragment one = wgmmaAccumulator(64, 48);
  for (int64_t t = 0; t < 256; ++t)
    for (int64_t d = 0; d < 24; ++d) {
      Coordinate c = one.at(t % 128, d);
      c.row += t / 128 * 64;
      ASSERT_EQ(two.at(t, d), c);
    }
  // Two instructions of each of two warpgroups.
  Fragment tall = wgmmaAccumulator(256, 48, 2);
  EXPECT_EQ(tall.threads, 256);
  EXPECT_EQ(tall.registers, 48);
  expectCover(tall);
  for (int64_t t = 0; t < 256; ++t)
    for (int64_t d = 0; d < 48; ++d) {
      Coordinate c = one.at(t % 128, d % 24);
      c.row += t / 128 * 128 + d / 24 * 64;
      ASSERT_EQ(tall.at(t, d), c);
    }
}

TEST(Fragment, WgmmaOperandA) {
  Fragment half = wgmmaOperandA(32, 16), byte = wgmmaOperandA(64, 8), word = wgmmaOperandA(16, 32);
  for (int64_t t = 0; t < 128; ++t) {
    int64_t row = (t / 4) % 8 + 16 * (t / 32);
    for (int64_t step = 0; step < 2; ++step)
      for (int64_t v2 = 0; v2 < 2; ++v2)
        for (int64_t v1 = 0; v1 < 2; ++v1) {
          for (int64_t v0 = 0; v0 < 2; ++v0)
            ASSERT_EQ(half.at(t, step * 8 + v2 * 4 + v1 * 2 + v0),
                      (Coordinate{row + 8 * v1, 16 * step + 2 * (t % 4) + v0 + 8 * v2}));
          for (int64_t v0 = 0; v0 < 4; ++v0)
            ASSERT_EQ(byte.at(t, step * 16 + v2 * 8 + v1 * 4 + v0),
                      (Coordinate{row + 8 * v1, 32 * step + 4 * (t % 4) + v0 + 16 * v2}));
        }
    for (int64_t step = 0; step < 2; ++step)
      for (int64_t v = 0; v < 4; ++v)
        ASSERT_EQ(word.at(t, step * 4 + v),
                  (Coordinate{row + 8 * (v % 2), 8 * step + t % 4 + 4 * (v / 2)}));
  }
  expectCover(half);
  expectCover(byte);
  expectCover(word);
}

TEST(Fragment, TensorMemoryRows) {
  Fragment f = tensorMemoryRows(128, 64);
  ASSERT_EQ(f.threads, 128);
  for (int64_t t = 0; t < 128; ++t)
    for (int64_t i = 0; i < 64; ++i)
      ASSERT_EQ(f.at(t, i), (Coordinate{t, i}));
  expectCover(f);
  // Row m of 64 is in lane m % 16 + 32 * (m / 16).
  Fragment half = tensorMemoryRows(64, 16);
  ASSERT_EQ(half.threads, 128);
  EXPECT_FALSE(half.isFull());
  for (int64_t m = 0; m < 64; ++m)
    ASSERT_EQ(half.at(m % 16 + 32 * (m / 16), 3), (Coordinate{m, 3}));
  for (int64_t t = 0; t < 128; ++t)
    ASSERT_EQ(half.contains(half.at(t, 0)), t % 32 < 16);
  expectCover(half);
}

TEST(Fragment, OneRowPerThread) {
  Fragment f = oneRowPerThread(96, 5);
  EXPECT_EQ(f.threads, 96);
  for (int64_t t = 0; t < 96; ++t)
    for (int64_t i = 0; i < 5; ++i)
      ASSERT_EQ(f.at(t, i), (Coordinate{t, i}));
  expectCover(f);
}

// By hand: an accumulator's thread has pairs of columns, a thread of tensor memory a
// row.
TEST(Fragment, RunsAreNeighborsInARow) {
  EXPECT_EQ(wgmmaAccumulator(64, 32).run(), 2);
  EXPECT_EQ(tensorMemoryRows(128, 16).run(), 16);
  EXPECT_EQ(tensorMemoryRows(128, 24).run(), 8);
  for (const Fragment &fragment :
       {wgmmaAccumulator(128, 40), tensorMemoryRows(128, 48), wgmmaOperandA(32, 16)}) {
    int64_t run = fragment.run();
    for (int64_t thread = 0; thread < fragment.threads; ++thread)
      for (int64_t reg = 0; reg < fragment.registers; reg += run) {
        Coordinate first = fragment.at(thread, reg);
        EXPECT_EQ(first.col % run, 0);
        for (int64_t i = 1; i < run; ++i)
          EXPECT_EQ(fragment.at(thread, reg + i), (Coordinate{first.row, first.col + i}));
      }
  }
}

} // namespace
