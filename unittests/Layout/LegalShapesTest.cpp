//===- LegalShapesTest.cpp - Shapes the hardware takes or refuses ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/LegalShapes.h"
#include "gtest/gtest.h"

#include <set>

using namespace penstock::layout;

namespace {

constexpr MmaType allTypes[] = {MmaType::F16,  MmaType::BF16, MmaType::TF32, MmaType::E4M3,
                                MmaType::E5M2, MmaType::S8,   MmaType::U8};

std::set<int> steps(int least, int step) {
  std::set<int> all;
  for (int n = least; n <= 256; n += step)
    all.insert(n);
  return all;
}

std::set<int> integerSteps() {
  std::set<int> all = steps(16, 16);
  all.insert({8, 24});
  return all;
}

template <class Refuse> std::set<int> accepted(Refuse refuse) {
  std::set<int> all;
  for (int n = -8; n <= 300; ++n)
    if (!refuse(n))
      all.insert(n);
  return all;
}

TEST(LegalShapes, WidthsOfWgmma) {
  auto widths = [](MmaType type, AccType d) {
    return accepted([=](int n) { return refuseWgmma(64, n, type, type, d, Major::K, Major::K); });
  };
  EXPECT_EQ(widths(MmaType::F16, AccType::F32), steps(8, 8));
  EXPECT_EQ(widths(MmaType::F16, AccType::F16), steps(8, 8));
  EXPECT_EQ(widths(MmaType::E4M3, AccType::F32), steps(8, 8));
  EXPECT_EQ(widths(MmaType::S8, AccType::S32), integerSteps());
  EXPECT_TRUE(refuseWgmma(128, 64, MmaType::F16, MmaType::F16, AccType::F32, Major::K, Major::K));
}

TEST(LegalShapes, TypesOfWgmma) {
  std::set<std::string> ok;
  for (MmaType a : allTypes)
    for (MmaType b : allTypes)
      for (AccType d : {AccType::F16, AccType::F32, AccType::S32})
        if (!refuseWgmma(64, 64, a, b, d, Major::K, Major::K))
          ok.insert(std::string(nameOf(a)) + " " + nameOf(b) + " " + nameOf(d));
  EXPECT_EQ(ok, (std::set<std::string>{
                    "f16 f16 f16", "f16 f16 f32", "bf16 bf16 f32", "tf32 tf32 f32", "e4m3 e4m3 f16",
                    "e4m3 e4m3 f32", "e4m3 e5m2 f16", "e4m3 e5m2 f32", "e5m2 e4m3 f16",
                    "e5m2 e4m3 f32", "e5m2 e5m2 f16", "e5m2 e5m2 f32", "s8 s8 s32", "u8 u8 s32"}));
}

TEST(LegalShapes, TransposedOperandsOfWgmma) {
  for (MmaType type : allTypes) {
    AccType d = type == MmaType::S8 || type == MmaType::U8 ? AccType::S32 : AccType::F32;
    bool wide = type == MmaType::F16 || type == MmaType::BF16;
    EXPECT_EQ(!refuseWgmma(64, 64, type, type, d, Major::MN, Major::K), wide) << nameOf(type);
    EXPECT_EQ(!refuseWgmma(64, 64, type, type, d, Major::K, Major::MN), wide) << nameOf(type);
  }
}

TEST(LegalShapes, Tcgen05) {
  auto widths = [](int ctas, int m, MmaType type, AccType d, Major b) {
    return accepted([=](int n) { return refuseTcgen05(ctas, m, n, type, type, d, Major::K, b); });
  };
  for (int m : {64, 128}) {
    EXPECT_EQ(widths(1, m, MmaType::F16, AccType::F32, Major::K), steps(8, 8));
    EXPECT_EQ(widths(1, m, MmaType::BF16, AccType::F32, Major::MN), steps(8, 8));
    EXPECT_EQ(widths(1, m, MmaType::TF32, AccType::F32, Major::K), steps(8, 8));
    EXPECT_EQ(widths(1, m, MmaType::E4M3, AccType::F32, Major::K), steps(8, 8));
    EXPECT_EQ(widths(1, m, MmaType::E4M3, AccType::F16, Major::MN), steps(16, 16));
    EXPECT_EQ(widths(1, m, MmaType::S8, AccType::S32, Major::K), integerSteps());
    EXPECT_EQ(widths(2, 2 * m, MmaType::F16, AccType::F32, Major::K), steps(16, 16));
    EXPECT_EQ(widths(2, 2 * m, MmaType::E5M2, AccType::F32, Major::K), steps(16, 16));
    EXPECT_EQ(widths(2, 2 * m, MmaType::E5M2, AccType::F32, Major::MN), steps(32, 32));
    EXPECT_EQ(widths(2, 2 * m, MmaType::U8, AccType::S32, Major::K), steps(32, 32));
  }
  EXPECT_TRUE(widths(1, 256, MmaType::F16, AccType::F32, Major::K).empty());
  EXPECT_TRUE(widths(1, 32, MmaType::F16, AccType::F32, Major::K).empty());
  EXPECT_TRUE(widths(2, 64, MmaType::F16, AccType::F32, Major::K).empty());
  EXPECT_TRUE(widths(0, 128, MmaType::F16, AccType::F32, Major::K).empty());
  EXPECT_TRUE(widths(4, 256, MmaType::F16, AccType::F32, Major::K).empty());
  EXPECT_TRUE(widths(1, 128, MmaType::BF16, AccType::F16, Major::K).empty());
  EXPECT_TRUE(widths(1, 128, MmaType::TF32, AccType::F32, Major::MN).empty());
}

TEST(LegalShapes, Tcgen05MixesTypesOfAKind) {
  auto mixed = [](MmaType a, MmaType b, AccType d) {
    return !refuseTcgen05(1, 128, 64, a, b, d, Major::K, Major::K);
  };
  EXPECT_TRUE(mixed(MmaType::E4M3, MmaType::E5M2, AccType::F32));
  EXPECT_TRUE(mixed(MmaType::U8, MmaType::S8, AccType::S32));
  EXPECT_TRUE(mixed(MmaType::F16, MmaType::BF16, AccType::F32));
  EXPECT_FALSE(mixed(MmaType::F16, MmaType::BF16, AccType::F16));
  EXPECT_FALSE(mixed(MmaType::F16, MmaType::TF32, AccType::F32));
  EXPECT_FALSE(mixed(MmaType::E4M3, MmaType::S8, AccType::S32));
}

TEST(LegalShapes, Boxes) {
  EXPECT_FALSE(refuseTmaBox(16, {64, 128}, Swizzle::B128));
  EXPECT_FALSE(refuseTmaBox(16, {32, 128}, Swizzle::B128)) << "narrower than the span";
  EXPECT_FALSE(refuseTmaBox(8, {256, 256}, Swizzle::None));
  EXPECT_FALSE(refuseTmaBox(16, {8, 1, 1, 1, 256}, Swizzle::B32));
  EXPECT_EQ(refuseTmaBox(16, {128, 128}, Swizzle::B128),
            "the fastest dimension of a box has 256 bytes, more than the 128 that the swizzle "
            "permutes");
  EXPECT_EQ(refuseTmaBox(16, {64, 257}, Swizzle::B128),
            "a box has 1 to 256 elements along each dimension, not 257");
  EXPECT_TRUE(refuseTmaBox(16, {64, 0}, Swizzle::B128));
  EXPECT_TRUE(refuseTmaBox(16, {4, 8}, Swizzle::None)) << "8 bytes";
  EXPECT_TRUE(refuseTmaBox(16, {}, Swizzle::None));
  EXPECT_TRUE(refuseTmaBox(16, {8, 1, 1, 1, 1, 1}, Swizzle::None));
  EXPECT_TRUE(refuseTmaBox(4, {64, 1}, Swizzle::None));
}

TEST(LegalShapes, RowsOfBoxes) {
  EXPECT_EQ(tmaBoxRows(3), 3);
  EXPECT_EQ(tmaBoxRows(256), 256);
  EXPECT_EQ(tmaBoxRows(320), 160);
  EXPECT_EQ(tmaBoxRows(512), 256);
  EXPECT_EQ(tmaBoxRows(514), 0) << "boxes have whole swizzle patterns";
}

TEST(LegalShapes, TilesOfBoxes) {
  EXPECT_FALSE(refuseTmaTile(*sharedTileFor(128, 128, 16)));
  EXPECT_FALSE(refuseTmaTile(*sharedTileFor(1, 8, 16))) << "one chunk may be small";
  EXPECT_FALSE(refuseTmaTile({100, 256, 8, Swizzle::None, true}));
  EXPECT_TRUE(refuseTmaTile({100, 512, 8, Swizzle::None, true})) << "a linear tile is one box";
  EXPECT_TRUE(refuseTmaTile(*sharedTileFor(257, 64, 16)));
  EXPECT_EQ(refuseTmaTile(*sharedTileFor(4, 24, 16)),
            "a copy by TMA starts at a multiple of 128 bytes, but the chunks of 4 rows have 64");
}

TEST(LegalShapes, ColumnsOfTensorMemory) {
  std::set<int64_t> ok;
  for (int64_t columns = -600; columns <= 1100; ++columns)
    if (!refuseTensorMemoryColumns(columns))
      ok.insert(columns);
  EXPECT_EQ(ok, (std::set<int64_t>{32, 64, 128, 256, 512}));
}

TEST(LegalShapes, SaysTheRule) {
  EXPECT_EQ(refuseWgmma(64, 12, MmaType::F16, MmaType::F16, AccType::F32, Major::K, Major::K),
            "n is 12, but wgmma needs a multiple of 8 from 8 to 256");
  EXPECT_EQ(
      refuseTcgen05(2, 128, 24, MmaType::E4M3, MmaType::E4M3, AccType::F32, Major::K, Major::MN),
      "n is 24, but tcgen05.mma of 2 CTAs with an MN-major 8-bit B needs a multiple of 32 from "
      "32 to 256");
  EXPECT_EQ(refuseTcgen05(1, 96, 64, MmaType::F16, MmaType::F16, AccType::F32, Major::K, Major::K),
            "m is 96, but tcgen05.mma of 1 CTA has 64 or 128 rows");
  EXPECT_EQ(refuseWgmma(64, 64, MmaType::S8, MmaType::S8, AccType::F32, Major::K, Major::K),
            "a product of `s8` and `s8` cannot be accumulated in `f32`");
}

} // namespace
