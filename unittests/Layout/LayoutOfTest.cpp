//===- LayoutOfTest.cpp - Hardware layouts in the algebra -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/LayoutOf.h"
#include "gtest/gtest.h"

using namespace penstock::layout;

namespace {

/// Element by element.
void expectAgreement(const Fragment &f) {
  std::optional<Layout> layout = layoutOf(f);
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->rank(), 2u);
  ASSERT_EQ(layout->at(0).size(), f.threads);
  ASSERT_EQ(layout->at(1).size(), f.registers);
  for (int64_t t = 0; t < f.threads; ++t)
    for (int64_t r = 0; r < f.registers; ++r) {
      Coordinate c = f.at(t, r);
      ASSERT_EQ(layout->apply({t, r}), c.row + f.rows * c.col) << t << ", " << r;
    }
}

TEST(LayoutOf, Fragments) {
  for (int64_t n : {8, 24, 64, 256}) {
    expectAgreement(wgmmaAccumulator(64, n));
    expectAgreement(wgmmaAccumulator(128, n));
    expectAgreement(wgmmaAccumulator(256, n, 2));
  }
  for (int bits : {8, 16, 32})
    for (int64_t steps : {1, 2, 3})
      expectAgreement(wgmmaOperandA(steps * 256 / bits, bits));
  expectAgreement(tensorMemoryRows(128, 40));
  expectAgreement(oneRowPerThread(96, 7));
  for (int64_t repeat : {1, 2, 8}) {
    expectAgreement(tensorMemoryPiece(TensorShape::S32x32b, repeat));
    expectAgreement(tensorMemoryPiece(TensorShape::S16x64b, repeat));
    expectAgreement(tensorMemoryPiece(TensorShape::S16x128b, repeat));
    expectAgreement(tensorMemoryPiece(TensorShape::S16x256b, repeat));
    expectAgreement(tensorMemoryPiece(TensorShape::S16x32bx2, repeat));
    expectAgreement(tensorMemoryPiece(TensorShape::S16x32bx2, repeat, 16));
  }
}

TEST(LayoutOf, KnownTexts) {
  // CuTe's names for D of m64n32, A of m64k16 and a piece of 32 lanes, column-major.
  EXPECT_EQ(print(*layoutOf(wgmmaAccumulator(64, 32))),
            "((4,8,4),(2,2,4)):((128,1,16),(64,8,512))");
  EXPECT_EQ(print(*layoutOf(wgmmaOperandA(16, 16))), "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))");
  EXPECT_EQ(print(*layoutOf(tensorMemoryPiece(TensorShape::S32x32b, 4))), "(32,4):(1,32)");
  EXPECT_EQ(print(layoutOf(*sharedTileFor(8, 64, 16))),
            "Sw<3,4,3> o smem_ptr[16b] o (8,64):(64,1)");
  EXPECT_EQ(print(layoutOf(*sharedTileFor(128, 128, 16))),
            "Sw<3,4,3> o smem_ptr[16b] o (128,(64,2)):(64,(1,8192))");
}

TEST(LayoutOf, FragmentsWithoutOne) {
  EXPECT_FALSE(layoutOf(tensorMemoryRows(64, 8))) << "half of the threads hold nothing";
  // Digits of 4 and 6 threads are not a hierarchy.
  Fragment f = oneRowPerThread(12, 1);
  f.rows = 100;
  f.rowTerms = {{4, 3, 1}, {6, 2, 10}};
  EXPECT_FALSE(layoutOf(f));
}

TEST(LayoutOf, RegistersToThreadsIsAnInverse) {
  // Which thread and register hold an element: the layout of a full fragment that
  // holds everything once is a permutation.
  Fragment f = wgmmaAccumulator(64, 32);
  std::optional<Layout> back = inverse(*layoutOf(f));
  ASSERT_TRUE(back);
  for (int64_t row = 0; row < 64; ++row)
    for (int64_t col = 0; col < 32; ++col) {
      int64_t at = back->apply(row + 64 * col);
      ASSERT_EQ(f.at(at % 128, at / 128), (Coordinate{row, col}));
    }
}

TEST(LayoutOf, SharedTiles) {
  for (int bits : {4, 8, 16, 32})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
      for (int64_t chunks : {1, 3})
        for (bool linear : {false, true}) {
          SharedTile tile{24, chunks * spanBytes(swizzle) * 8 / bits, bits, swizzle, linear};
          SwizzledLayout layout = layoutOf(tile);
          for (int64_t row = 0; row < tile.rows; ++row)
            for (int64_t col = 0; col < tile.cols; ++col)
              ASSERT_EQ(layout.byteOffset({row, col}), tile.byteOffset(row, col));
          EXPECT_EQ(parseSwizzledLayout(print(layout)).value, layout);
        }
}

TEST(LayoutOf, Accumulators) {
  struct {
    int ctas;
    int64_t m;
  } cases[] = {{1, 64}, {1, 128}, {2, 128}, {2, 256}};
  for (auto [ctas, m] : cases)
    for (int64_t n : {16, 48, 256}) {
      TensorAccumulator d{ctas, m, n};
      Layout layout = layoutOf(d);
      for (int64_t row = 0; row < d.rowsPerCta(); ++row)
        for (int64_t col = 0; col < n; ++col)
          ASSERT_EQ(layout.apply({row, col}), d.cellOf(row, col).address());
    }
}

} // namespace
