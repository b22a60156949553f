//===- block_scale.cpp - Block-scaled mma.sync ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostFloat.h"
#include "Launch.h"

#include <algorithm>

using namespace kernels;

namespace {

KERNEL_FAMILY(BlockScale, "block_scale", "sm_120a");

/// Sums of products with scales, which are powers of two unless \p small. All values are small
/// integers or halves, so that sums are exact.
void multiply(Launch k, size_t depth, size_t scales, const SmallFloat &typeA,
              const SmallFloat &typeB, bool small) {
  Random random;
  auto makeValues = [&](size_t rows, const SmallFloat &type, std::vector<uint8_t> &codes) {
    std::vector<double> values(rows * depth);
    for (double &x : values) {
      codes.push_back(uint8_t(type.nearest(random.between(-12, 12) / 2.0)));
      x = type.value(codes.back());
    }
    return values;
  };
  auto makeScales = [&](size_t rows, std::vector<uint8_t> &codes) {
    std::vector<double> values(rows * scales);
    for (double &x : values)
      if (small) {
        codes.push_back(uint8_t(e4m3.nearest(random.between(1, 12) / 4.0)));
        x = e4m3.value(codes.back());
      } else {
        int exponent = random.between(-2, 2);
        codes.push_back(uint8_t(127 + exponent));
        x = std::ldexp(1.0, exponent);
      }
    return values;
  };
  std::vector<uint8_t> bitsA, bitsB, bitsOfScaleA, bitsOfScaleB;
  auto a = makeValues(16, typeA, bitsA), b = makeValues(8, typeB, bitsB);
  auto scaleA = makeScales(16, bitsOfScaleA), scaleB = makeScales(8, bitsOfScaleB);
  std::vector<float> c(128);
  for (float &x : c)
    x = float(random.between(-20, 20));
  k.in(bitsA);
  k.in(bitsB);
  k.in(bitsOfScaleA);
  k.in(bitsOfScaleB);
  k.in(c);
  Buffer d = k.out<float>(128);
  k.run([&](const Results &results) {
    auto got = results.get<float>(d);
    for (size_t m = 0; m < 16; ++m)
      for (size_t n = 0; n < 8; ++n) {
        double sum = c[m * 8 + n];
        for (size_t i = 0; i < depth; ++i) {
          size_t block = i * scales / depth;
          sum += a[m * depth + i] * scaleA[m * scales + block] * b[n * depth + i] *
                 scaleB[n * scales + block];
        }
        EXPECT_EQ(double(got[m * 8 + n]), sum) << m << " " << n;
      }
  });
}

TEST_P(BlockScale, Bytes) {
  multiply(launch("mx8_e4m3"), 32, 1, e4m3, e4m3, false);
  multiply(launch("mx8_e5m2_e4m3"), 32, 1, e5m2, e4m3, false);
  multiply(launch("mx8_e2m3_e3m2"), 32, 1, e2m3, e3m2, false);
  multiply(launch("mx8_e2m1_e4m3"), 32, 1, e2m1, e4m3, false);
}

TEST_P(BlockScale, PackedPairs) {
  multiply(launch("mxf4"), 64, 2, e2m1, e2m1, false);
  multiply(launch("mxf4_default"), 64, 2, e2m1, e2m1, false);
  multiply(launch("nvf4_2x"), 64, 2, e2m1, e2m1, false);
  multiply(launch("nvf4_4x"), 64, 4, e2m1, e2m1, true);
}

TEST_P(BlockScale, PaddedValuesAreUnpacked) {
  Random random;
  auto makeRows = [&](unsigned bits, std::vector<uint32_t> &words) {
    std::vector<uint8_t> values(32 * 16);
    unsigned perRow = bits / 2;
    words.assign(32 * perRow, 0);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = uint8_t(random.below(1u << bits));
      for (unsigned bit = 0; bit < bits; ++bit) {
        size_t at = i % 16 * bits + bit;
        words[i / 16 * perRow + at / 32] |= uint32_t(values[i] >> bit & 1) << (at % 32);
      }
    }
    return values;
  };
  std::vector<uint32_t> wordsOfSix, wordsOfFour;
  auto six = makeRows(6, wordsOfSix), four = makeRows(4, wordsOfFour);
  Launch k = launch("unpackMatrices");
  k.in(wordsOfSix);
  k.in(wordsOfFour);
  Buffer registers = k.out<uint32_t>(32 * 7);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(registers);
    for (size_t t = 0; t < 32; ++t)
      for (size_t r = 0; r < 7; ++r) {
        const auto &values = r < 4 ? six : four;
        size_t matrix = r < 4 ? r : (r - 4) % 2, first = (matrix * 8 + t / 4) * 16 + t % 4 * 4;
        uint32_t word = 0;
        for (size_t i = 0; i < 4; ++i)
          word |= uint32_t(values[first + i]) << (8 * i);
        EXPECT_EQ(got[t * 7 + r], word) << "lane " << t << " register " << r;
      }
  });
}

} // namespace
