//===- PackTransposedTest.cpp - Against two plain loops -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/PackTransposed.h"
#include "penstock/elements.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

using namespace penstock;

namespace {

/// Bits of f16 as float, digit by digit.
float halfValue(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 31  ? (mantissa ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(mantissa, -24)
                                 : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>(bits >> 15 ? -value : value);
}

/// bf16 is the upper half of a float.
float brainValue(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

constexpr float untouched = -12345.5f;

/// Packs and compares every element of the target, those outside included.
template <class T, class Value>
void check(PackFrom type, int64_t rows, int64_t columns, int64_t fromPad, int64_t toPad,
           unsigned seed, Value valueOf) {
  std::mt19937 random(seed);
  int64_t fromStride = rows + fromPad, toStride = columns + toPad;
  // Exactly as long as the last element needs, so that sanitizers see more.
  std::vector<T> from(rows && columns ? (columns - 1) * fromStride + rows : 0);
  for (T &element : from) {
    uint32_t bits = random();
    if (type == PackFrom::F32 && (bits >> 23 & 255) == 255)
      bits &= 0x7fffffu;
    std::memcpy(&element, &bits, sizeof element);
  }
  std::vector<float> to(rows * toStride + 1, untouched);
  packTransposed(type, from.data(), fromStride, to.data(), toStride, rows, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < toStride; ++j) {
      float expected = j < columns ? valueOf(from[i + j * fromStride]) : untouched;
      ASSERT_TRUE(same(to[i * toStride + j], expected))
          << rows << "x" << columns << " at " << i << "," << j;
    }
  ASSERT_EQ(to.back(), untouched);
}

template <class T, class Value> void checkAll(PackFrom type, Value valueOf) {
  unsigned seed = 0;
  for (int64_t rows : {0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 64})
    for (int64_t columns : {0, 1, 3, 15, 16, 17, 32, 47, 64})
      for (int64_t fromPad : {0, 1, 16})
        for (int64_t toPad : {0, 5})
          check<T>(type, rows, columns, fromPad, toPad, ++seed, valueOf);
}

TEST(PackTransposed, F32) {
  checkAll<float>(PackFrom::F32, [](float value) { return value; });
}
TEST(PackTransposed, F16) { checkAll<uint16_t>(PackFrom::F16, halfValue); }
TEST(PackTransposed, BF16) { checkAll<uint16_t>(PackFrom::BF16, brainValue); }

// All 65536 values of the narrow types, in a shape that uses the wide path.
template <class Value> void checkEveryValue(PackFrom type, Value valueOf) {
  std::vector<uint16_t> from(65536);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<uint16_t>(i);
  std::vector<float> to(65536);
  packTransposed(type, from.data(), 256, to.data(), 256, 256, 256);
  for (int64_t i = 0; i < 256; ++i)
    for (int64_t j = 0; j < 256; ++j)
      ASSERT_TRUE(same(to[i * 256 + j], valueOf(from[i + j * 256]))) << from[i + j * 256];
}
TEST(PackTransposed, EveryF16) { checkEveryValue(PackFrom::F16, halfValue); }
TEST(PackTransposed, EveryBF16) { checkEveryValue(PackFrom::BF16, brainValue); }

} // namespace
