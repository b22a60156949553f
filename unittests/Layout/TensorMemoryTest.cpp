//===- TensorMemoryTest.cpp - Cells and pieces of tensor memory -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/TensorMemory.h"
#include "gtest/gtest.h"

#include <set>

using namespace penstock::layout;

namespace {

TEST(TensorMemory, AccumulatorOf128Rows) {
  for (TensorAccumulator d : {TensorAccumulator{1, 128, 40}, TensorAccumulator{2, 256, 48}}) {
    EXPECT_EQ(d.rowsPerCta(), 128);
    EXPECT_EQ(d.columns(), d.n);
    for (int64_t m = 0; m < 128; ++m)
      for (int64_t n = 0; n < d.n; ++n)
        ASSERT_EQ(d.cellOf(m, n), (TensorCell{m, n}));
  }
}

TEST(TensorMemory, AccumulatorOf64RowsOfOneCta) {
  TensorAccumulator d{1, 64, 24};
  EXPECT_EQ(d.rowsPerCta(), 64);
  EXPECT_EQ(d.columns(), 24);
  for (int64_t m = 0; m < 64; ++m)
    for (int64_t n = 0; n < 24; ++n)
      ASSERT_EQ(d.cellOf(m, n), (TensorCell{m % 16 + 32 * (m / 16), n}));
}

TEST(TensorMemory, AccumulatorOf64RowsOfEachOfTwoCtas) {
  TensorAccumulator d{2, 128, 32};
  EXPECT_EQ(d.rowsPerCta(), 64);
  EXPECT_EQ(d.columns(), 16);
  for (int64_t m = 0; m < 64; ++m)
    for (int64_t n = 0; n < 32; ++n)
      ASSERT_EQ(d.cellOf(m, n), (TensorCell{m + 64 * (n / 16), n % 16}));
  EXPECT_EQ(d.cellOf(3, 20).address(), 67 * 65536 + 4);
}

void expectOnce(const Fragment &f) {
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t t = 0; t < f.threads; ++t)
    for (int64_t r = 0; r < f.registers; ++r) {
      Coordinate c = f.at(t, r);
      ASSERT_TRUE(f.contains(c));
      ASSERT_TRUE(seen.insert({c.row, c.col}).second);
    }
  EXPECT_EQ(int64_t(seen.size()), f.rows * f.cols);
}

TEST(TensorMemory, Pieces) {
  for (int64_t x : {1, 2, 16}) {
    Fragment a = tensorMemoryPiece(TensorShape::S32x32b, x);
    Fragment b = tensorMemoryPiece(TensorShape::S16x64b, x);
    Fragment c = tensorMemoryPiece(TensorShape::S16x128b, x);
    Fragment d = tensorMemoryPiece(TensorShape::S16x256b, x);
    Fragment e = tensorMemoryPiece(TensorShape::S16x32bx2, x);
    EXPECT_EQ(a.registers, x);
    EXPECT_EQ(b.registers, x);
    EXPECT_EQ(c.registers, 2 * x);
    EXPECT_EQ(d.registers, 4 * x);
    EXPECT_EQ(e.registers, x);
    for (int64_t t = 0; t < 32; ++t)
      for (int64_t i = 0; i < x; ++i) {
        ASSERT_EQ(a.at(t, i), (Coordinate{t, i}));
        ASSERT_EQ(b.at(t, i), (Coordinate{t / 4 + 8 * (t % 2), 2 * i + t / 2 % 2}));
        ASSERT_EQ(e.at(t, i), (Coordinate{t % 16, i + (t < 16 ? 0 : x)}));
        for (int64_t j = 0; j < 2; ++j) {
          ASSERT_EQ(c.at(t, j + 2 * i), (Coordinate{t / 4 + 8 * j, 4 * i + t % 4}));
          for (int64_t k = 0; k < 2; ++k)
            ASSERT_EQ(d.at(t, k + 2 * j + 4 * i),
                      (Coordinate{t / 4 + 8 * j, 8 * i + 2 * (t % 4) + k}));
        }
      }
    for (const Fragment &f : {a, b, c, d, e})
      expectOnce(f);
  }
  Fragment split = tensorMemoryPiece(TensorShape::S16x32bx2, 2, 32);
  EXPECT_EQ(split.at(17, 1), (Coordinate{1, 33}));
}

TEST(TensorMemory, Names) {
  EXPECT_STREQ(nameOf(TensorShape::S32x32b), "32x32b");
  EXPECT_STREQ(nameOf(TensorShape::S16x64b), "16x64b");
  EXPECT_STREQ(nameOf(TensorShape::S16x128b), "16x128b");
  EXPECT_STREQ(nameOf(TensorShape::S16x256b), "16x256b");
  EXPECT_STREQ(nameOf(TensorShape::S16x32bx2), "16x32bx2");
}

} // namespace
