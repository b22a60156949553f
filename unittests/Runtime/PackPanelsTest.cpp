//===- PackPanelsTest.cpp - Packed operands against their definition ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/PackPanels.h"
#include "gtest/gtest.h"

#include <random>
#include <vector>

using namespace penstock;

namespace {

/// A matrix in memory that is exactly as long as it needs, so that sanitizers see more.
template <class T> struct Matrix {
  Matrix(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride, unsigned seed)
      : rows(rows), columns(columns), rowStride(rowStride), columnStride(columnStride),
        elements(size_t((rows - 1) * rowStride + (columns - 1) * columnStride + 1)) {
    std::mt19937 random(seed);
    for (T &element : elements)
      element = T(random());
  }
  T at(int64_t i, int64_t j) const {
    return i < rows && j < columns ? elements[size_t(i * rowStride + j * columnStride)] : T(0);
  }
  ElementMatrix view() const {
    return {elements.data(), rows, columns, rowStride, columnStride, int64_t(sizeof(T))};
  }
  int64_t rows, columns, rowStride, columnStride;
  std::vector<T> elements;
};

const int64_t sizes[] = {1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 64, 70};

template <class T> void checkPanels() {
  constexpr int64_t inGroup = 4 / int64_t(sizeof(T));
  for (int64_t rows : sizes)
    for (int64_t columns : sizes)
      for (bool isTransposed : {false, true})
        for (int64_t margin : {0, 1, 4}) {
          int64_t major = (isTransposed ? rows : columns) + margin;
          Matrix<T> from(rows, columns, isTransposed ? 1 : major, isTransposed ? major : 1,
                         unsigned(rows * columns));
          int64_t groups = (rows + inGroup - 1) / inGroup + margin;
          int64_t panels = (columns + 15) / 16;
          std::vector<T> to(size_t(panels * groups * 16 * inGroup), T(0x55));
          packPanels(from.view(), to.data(), groups);
          size_t next = 0;
          for (int64_t panel = 0; panel < panels; ++panel)
            for (int64_t group = 0; group < groups; ++group)
              for (int64_t j = 0; j < 16; ++j)
                for (int64_t e = 0; e < inGroup; ++e)
                  ASSERT_EQ(to[next++], from.at(group * inGroup + e, panel * 16 + j))
                      << rows << "x" << columns << " transposed " << isTransposed << " margin "
                      << margin;
        }
}

TEST(PackPanels, Pairs) { checkPanels<uint16_t>(); }
TEST(PackPanels, Quads) { checkPanels<uint8_t>(); }

TEST(PackPanels, GroupsThatAreNotAligned) {
  Matrix<uint16_t> from(8, 18, 1, 8, 1);
  ElementMatrix view = from.view();
  view.data = from.elements.data() + 1;
  view.columns = 17;
  std::vector<uint16_t> to(2 * 4 * 16 * 2);
  packPanels(view, to.data(), 4);
  EXPECT_EQ(to[0], from.elements[1]);
  EXPECT_EQ(to[4 * 32 + 1], from.elements[16 * 8 + 2]);
}

TEST(PackRows, PadsAndFlips) {
  for (bool isTransposed : {false, true})
    for (uint8_t flip : {0, 0x80}) {
      Matrix<uint8_t> from(5, 7, isTransposed ? 1 : 9, isTransposed ? 6 : 1, 3);
      std::vector<uint8_t> to(5 * 12, 0x55);
      packRows(from.view(), to.data(), 12, flip);
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t k = 0; k < 12; ++k)
          EXPECT_EQ(to[size_t(i * 12 + k)], from.at(i, k) ^ flip);
    }
}

TEST(PackTiles, InTheirOrder) {
  for (bool isTransposed : {false, true})
    for (int64_t rows : {1, 16, 21})
      for (int64_t columns : {1, 32, 70}) {
        Matrix<uint16_t> from(rows, columns, isTransposed ? 1 : columns + 1,
                              isTransposed ? rows + 1 : 1, 5);
        int64_t steps = (columns + 31) / 32;
        std::vector<uint16_t> to(size_t((rows + 15) / 16 * 16 * steps * 32), 0x5555);
        packTiles(from.view(), to.data(), steps);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t k = 0; k < steps * 32; ++k)
            ASSERT_EQ(to[size_t(((i / 16 * steps + k / 32) * 16 + i % 16) * 32 + k % 32)],
                      from.at(i, k));
      }
}

TEST(OffsetSums, OfEachColumn) {
  Matrix<int8_t> from(9, 20, 20, 1, 4);
  std::vector<int8_t> packed(2 * 3 * 64);
  packPanels(from.view(), packed.data(), 3);
  std::vector<int32_t> sums(32, 1);
  offsetSums(packed.data(), 2, 3 * 64, 3, sums.data());
  for (int64_t j = 0; j < 32; ++j) {
    int32_t sum = 0;
    for (int64_t k = 0; k < 9; ++k)
      sum += from.at(k, j);
    EXPECT_EQ(sums[size_t(j)], -128 * sum);
  }
}

} // namespace
